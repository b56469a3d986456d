"""Formulas of the rules, written by the rules themselves: a rule is run on symbols, and what it does to them is read.

>>> from minigrad.formulas import rows
>>> table = {row.name: row for row in rows()}
>>> [str(derivative) for derivative in table["divide"].derivatives]
['g / y', '-g * (out / y)']
"""

from minigrad.formulas.mathml import mathml
from minigrad.formulas.rows import Derivative, Row, rows
from minigrad.formulas.symbols import Symbol
from minigrad.formulas.text import text

__all__ = ["Derivative", "Row", "Symbol", "mathml", "rows", "text"]
