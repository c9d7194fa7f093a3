"""What changed, as refusals of a change show it."""

import difflib
import json

from winkube.api.internal import internal
from winkube.base.types import JsonObject


def difference(kind: str, old: JsonObject, new: JsonObject) -> str:
    """The changed lines of both, written as upstream's internal type ``kind``."""
    before, after = (_lines(internal(kind, value)) for value in (old, new))
    changes = list(difflib.unified_diff(before, after, n=3))
    return "".join(changes[2:])  # without the names of files


def _lines(value: JsonObject) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    for mark in "<>&":  # Go's encoder is careful with HTML
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return [f"{line}\n" for line in text.split("\n")]
