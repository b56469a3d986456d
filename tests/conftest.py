"""How hypothesis runs: always the same examples, and no deadline, since machines differ.

`pytest --hypothesis-profile=thorough` looks much longer, and at other examples each time.
"""

from hypothesis import settings

settings.register_profile("same", max_examples=20, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("thorough", max_examples=400, deadline=None)
settings.load_profile("same")
