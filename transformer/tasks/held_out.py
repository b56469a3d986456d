"""Which examples are never trained on: decided by a hash of the example, the same in every run and on every machine."""

from hashlib import blake2b


def held_out(text: str, one_in: int) -> bool:
    """Whether `text` is among the about `1 / one_in` of all texts that are kept from training.

    Python's own `hash` will not do: it differs between processes.
    """
    digest = blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % one_in == 0
