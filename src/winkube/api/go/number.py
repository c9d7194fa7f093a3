"""Whole numbers in texts, as Go's strconv reads them.

Python's ``int`` takes more (spaces, underscores, the digits of all scripts), and of a text with
thousands of digits it says nothing about numbers at all.
"""

import re
from typing import Final

from winkube.api.go.text import quoted

_SIGNED: Final = re.compile(r"[+-]?[0-9]+")
_UNSIGNED: Final = re.compile(r"[0-9]+")
# As many digits as a number of 64 bits can have: with one more it is too large, whatever follows.
_MANY: Final = 20


class NumberError(ValueError):
    """In strconv's words, but for the name of the function."""

    def __init__(self, text: str, fault: str, nearest: int = 0) -> None:
        super().__init__(f"parsing {quoted(text)}: {fault}")
        self.nearest = nearest  # what Go goes on with where nobody looks at the error


def parse_int(text: str, bits: int = 64) -> int:
    return _parse(text, _SIGNED, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def parse_uint(text: str, bits: int = 64) -> int:
    return _parse(text, _UNSIGNED, 0, 2**bits - 1)


def _parse(text: str, form: re.Pattern[str], least: int, most: int) -> int:
    if not form.fullmatch(text):
        raise NumberError(text, "invalid syntax")
    digits = text.lstrip("+-").lstrip("0") or "0"
    number = int(digits[: _MANY + 1])
    if text.startswith("-"):
        number = -number
    nearest = min(max(number, least), most)
    if nearest != number:
        raise NumberError(text, "value out of range", nearest)
    return number
