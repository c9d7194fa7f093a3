"""Numbers that annotations say: whoever may change an object may write anything there."""

from typing import Final

from winkube.api.go.number import NumberError, parse_uint
from winkube.api.meta import annotations_of
from winkube.base.types import JsonObject

MAX_INT32: Final = 2**31 - 1
MAX_INT64: Final = 2**63 - 1


def noted_number(obj: JsonObject, name: str, *, most: int) -> int | None:
    """None where nothing is said, or no number from 0 to ``most``."""
    try:
        number = parse_uint(annotations_of(obj).get(name, ""))
    except NumberError:
        return None
    return number if number <= most else None
