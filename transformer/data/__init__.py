"""Sentence pairs that people wrote: reading them, looking at them before anything is trained, and cutting them up."""

from transformer.data.errors import DataError
from transformer.data.grouping import Group, group_by_source
from transformer.data.pair_file import Row, read_rows
from transformer.data.split import Split, split

__all__ = ["DataError", "Group", "Row", "Split", "group_by_source", "read_rows", "split"]
