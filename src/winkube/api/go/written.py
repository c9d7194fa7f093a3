"""A JSON text read with care: numbers keep their spelling, objects the keys written twice.

The fast parser forgets both. What it forgets is asked for only when a request is refused, carries
a fraction where a quantity stands or repeats a key, so this reads a text a second time, slowly.
"""

import json
import re
from typing import Any, Final

from winkube.api.go.text import json_number
from winkube.base.types import JsonObject

_INT64: Final = 2**63
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"


class WrittenNumber(float):
    """A fraction, or a whole number beyond 64 bits, that knows how it was written."""

    __slots__ = ("text",)
    text: str

    @classmethod
    def read(cls, text: str) -> "WrittenNumber":
        made = cls(text)
        made.text = text
        return made


class WrittenObject(dict[str, Any]):
    """``pairs`` is all that was written; as a dict it is what Go's decoder makes of that."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__()
        self.pairs = pairs
        for key, value in pairs:
            self[key] = _over(self[key], value) if key in self else value


def _over(old: Any, new: Any) -> Any:
    """A second object is read into the first: fields it does not name stay."""
    if isinstance(old, WrittenObject) and isinstance(new, WrittenObject):
        return WrittenObject([*old.pairs, *new.pairs])
    return new


def written(value: Any) -> Any:
    """A number as it stands in a text; anything else as it is."""
    if isinstance(value, WrittenNumber):
        return value.text
    return json_number(value) if isinstance(value, float) else value


def read_written(raw: bytes) -> Any:
    """The value, or None for a text that is no JSON."""
    try:
        return json.loads(
            raw.decode(errors="replace"),
            object_pairs_hook=WrittenObject,
            parse_float=WrittenNumber.read,
            parse_int=_whole,
        )
    except (ValueError, RecursionError):
        return None


def _whole(text: str) -> int | WrittenNumber:
    if len(text) > 20:
        return WrittenNumber.read(text)
    number = int(text)
    return number if -_INT64 <= number < _INT64 else WrittenNumber.read(text)


def read_loosely(raw: bytes) -> Any:
    """What Go's decoder takes and the fast parser refuses: broken text, numbers beyond a double."""
    return json.loads(raw.decode(errors="replace"), object_hook=_whole_keys, parse_int=_small)


def _small(text: str) -> int | float:
    number = _whole(text)
    return number if type(number) is int else float(text)


def _whole_keys(obj: JsonObject) -> JsonObject:
    return {_whole_text(key): _without_halves(value) for key, value in obj.items()}


def _without_halves(value: Any) -> Any:
    if isinstance(value, str):
        return _whole_text(value)
    return [_without_halves(child) for child in value] if isinstance(value, list) else value


def _whole_text(text: str) -> str:
    return _SURROGATE.sub(_REPLACEMENT, text)


def plain_objects(value: Any) -> Any:
    """Ordinary dicts again; numbers keep their spelling."""
    if isinstance(value, dict):
        return {_whole_text(key): plain_objects(child) for key, child in value.items()}
    if isinstance(value, list):
        return [plain_objects(child) for child in value]
    return _whole_text(value) if isinstance(value, str) else value


def plain_numbers(value: Any) -> Any:
    """Ordinary numbers again; in place where there is a place."""
    if isinstance(value, WrittenNumber):
        return float(value)
    if isinstance(value, (dict, list)):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            value[key] = plain_numbers(child)
    return value
