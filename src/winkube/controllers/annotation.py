"""Numbers that annotations say: whoever may change an object may write anything there."""

from typing import Final

from winkube.api.meta import annotations_of
from winkube.base.types import JsonObject

MAX_INT32: Final = 2**31 - 1
MAX_INT64: Final = 2**63 - 1


def noted_number(obj: JsonObject, name: str, *, most: int) -> int | None:
    """None where nothing is said, or no number from 0 to ``most``."""
    text = annotations_of(obj).get(name, "")
    # Text of thousands of digits is refused by ``int`` itself, with another error.
    if not (text.isascii() and text.isdecimal()) or len(text.lstrip("0")) > len(str(most)):
        return None
    number = int(text.lstrip("0") or "0")
    return number if number <= most else None
