"""How hypothesis runs: where CI is set, always the same examples; nowhere a deadline, since machines differ.

`pytest --hypothesis-profile=thorough` looks much longer.
"""

import os

from hypothesis import settings

settings.register_profile("local", max_examples=20, deadline=None)
settings.register_profile("ci", parent=settings.get_profile("local"), derandomize=True, print_blob=True)
settings.register_profile("thorough", parent=settings.get_profile("local"), max_examples=400)
settings.load_profile("ci" if os.environ.get("CI") else "local")
