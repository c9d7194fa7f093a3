"""Values as Go prints them in error messages."""

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

import orjson

from winkube.base.types import JsonObject


def printed(value: Any) -> str:
    """As ``%v``: ``map[a:1 b:[x y]]``, keys in order."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{printed(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(printed, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = float(value)  # as Go reads it
    return _general(value) if isinstance(value, float) else str(value)


def _general(number: float) -> str:
    """As ``%v`` of a float64: the shortest digits, an exponent from a million on."""
    if not math.isfinite(number):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(str(number), "NaN")
    far = number and (abs(number) < 1e-4 or abs(number) >= 1e6)
    return _scientific(number) if far else _decimal(number)


def json_number(number: float) -> str:
    """As Go's JSON encoder writes a float64."""
    if not math.isfinite(number):
        return str(number)
    if number and (abs(number) < 1e-6 or abs(number) >= 1e21):
        return re.sub(r"e-0(\d)$", r"e-\1", _scientific(number))
    return _decimal(number)


def _decimal(number: float) -> str:
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _scientific(number: float) -> str:
    digits, _, exponent = format(Decimal(repr(number)).normalize(), "e").partition("e")
    return f"{digits}e{exponent[0]}{exponent[1:].zfill(2)}"


def go_syntax(value: Any) -> str:
    """As ``%#v``, of what JSON can say."""
    if isinstance(value, dict):
        pairs = (f"{quoted(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return quoted(value) if isinstance(value, str) else printed(value)


_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
    "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def quoted(text: str) -> str:
    """As ``%q``: what cannot be printed is escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escaped, text))}"'


def quoted_list(texts: Iterable[str]) -> str:
    """As ``%q`` of several texts."""
    return f"[{' '.join(map(quoted, texts))}]"


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    number = ord(char)
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def object_text(obj: Any) -> str:
    return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS).decode()


def selector_in_go(selector: JsonObject | None) -> str:
    """A label selector as its own String method writes it."""
    if selector is None:
        return "nil"
    labels = selector.get("matchLabels") or {}
    written = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    listed = "".join(
        f"LabelSelectorRequirement{{Key:{each['key']},Operator:{each['operator']},"
        f"Values:[{' '.join(each.get('values') or ())}],}},"
        for each in selector.get("matchExpressions") or ()
    )
    expressions = f"[]LabelSelectorRequirement{{{listed}}}"
    labelled = f"map[string]string{{{written}}}"
    return f"&LabelSelector{{MatchLabels:{labelled},MatchExpressions:{expressions},}}"


# Go's encoder writes what could end a script or a line of one as escapes.
_UNSAFE: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def web_safe(text: str) -> str:
    return text.translate(_UNSAFE)
