"""Resource lists: upstream rounds every quantity up to a thousandth."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from winkube.api.quantity import QuantityError, canonical_quantity, format_quantity, parse_quantity
from winkube.base.types import JsonObject


def round_resources(resources: JsonObject) -> None:
    round_list(resources.get("limits"))
    round_list(resources.get("requests"))


def round_list(quantities: Any) -> None:
    for name, text in (quantities or {}).items():
        # Only these suffixes can stand for less than a thousandth.
        if isinstance(text, str) and text[-1:] in ("n", "u"):
            try:
                milli = -((-parse_quantity(text) * 1000) // 1)
            except QuantityError:
                continue
            quantities[name] = format_quantity(Fraction(milli, 1000))


def canonical_sum(quantities: Iterable[str]) -> str:
    texts = list(quantities)
    binary = any(text.endswith("i") for text in map(canonical_quantity, texts))
    total = sum((parse_quantity(text) for text in texts), Fraction(0))
    return format_quantity(total, "BinarySI" if binary else "DecimalSI")
