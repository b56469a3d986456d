"""What keeps a file of data from being used. Each message is one line that a user can act on."""


class DataError(ValueError):
    """A file that can't be read as it should be; says which line, why, and what to do."""
