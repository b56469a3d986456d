"""Kinds of options that several commands have."""

import argparse


def whole_number(text: str) -> int:
    """A whole number from 0, as an option's value."""
    return _number(text, 0)


def positive_number(text: str) -> int:
    """A whole number from 1, as an option's value."""
    return _number(text, 1)


def positive_real(text: str) -> float:
    """A number greater than 0, as an option's value: a time in seconds, a factor."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number greater than 0, got {text!r}")
    return value


def _number(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"must be a whole number, at least {least}, got {text!r}")
    return value
