"""Quantities: exact numbers with a suffix (k8s.io/apimachinery: pkg/api/resource/quantity.go).

Values are exact fractions. The canonical text keeps the family of suffixes the author used, has no
fraction and the largest suffix that allows it: ``0.5`` is ``500m``, ``1.5Gi`` is ``1536Mi``.
"""

import functools
import re
from fractions import Fraction
from typing import Final

from winkube.api.errors import BadRequestError

_QUANTITY: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([a-zA-Z]*[-+]?\d*)", re.ASCII)
_EXPONENT: Final = re.compile(r"[eE]([-+]?\d+)", re.ASCII)
_BINARY: Final = {s: 1024**n for n, s in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}
_DECIMAL: Final = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18),
}  # fmt: skip
_NANO: Final = 10**9
_MAX: Final = 2**63 - 1
# A longer text is hostile: nobody writes 60 digits, and exponents this size would fill memory.
_MAX_LENGTH: Final = 64
_MAX_EXPONENT: Final = 100

INVALID: Final = (
    "quantities must match the regular expression "
    r"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class QuantityError(BadRequestError):
    def __init__(self, text: object, message: str = INVALID) -> None:
        super().__init__(message)
        self.text = text


def parse_quantity(value: str | int | float) -> Fraction:
    return _parse(value if isinstance(value, str) else repr(value))[0]


def to_milli(value: str | int | float) -> int:
    """Thousandths, rounded up (CPU)."""
    return -((-parse_quantity(value) * 1000) // 1)


def to_bytes(value: str | int | float) -> int:
    """Whole units, rounded up (memory, storage, counts)."""
    return -(-parse_quantity(value) // 1)


@functools.lru_cache(maxsize=4096)
def canonical_quantity(value: str | int | float) -> str:
    """The text the API server gives back for this one."""
    number, family = _parse(value if isinstance(value, str) else repr(value))
    return format_quantity(number, family)


def format_quantity(value: Fraction | int, family: str = "DecimalSI") -> str:
    """Canonical text; ``family`` is DecimalSI, BinarySI or DecimalExponent."""
    number = Fraction(value)
    if number == 0:
        return "0"
    # Small or fractional binary values would lose digits: upstream shows them as decimal.
    if family == "BinarySI" and abs(number) >= 1024 and number.denominator == 1:
        return _format_binary(int(number))
    nano = _ceil_away(number * _NANO)
    zeros = 0
    while nano % 1000 == 0 and zeros < 9:
        nano //= 1000
        zeros += 1
    exponent = zeros * 3 - 9
    if family == "DecimalExponent":
        return f"{nano}e{exponent}" if exponent else str(nano)
    suffix = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
    return f"{nano}{suffix[exponent]}"


def _format_binary(number: int) -> str:
    suffixes = list(_BINARY)
    power = 0
    while number % 1024 == 0 and power < len(suffixes) - 1:
        number //= 1024
        power += 1
    return f"{number}{suffixes[power]}"


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> tuple[Fraction, str]:
    match = _QUANTITY.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None or not (match[2] or match[3]):
        raise QuantityError(text)
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    scale, family = _scale(text, suffix)
    number = Fraction(int((whole + fraction) or "0"), 10 ** len(fraction)) * scale
    # Never below a nano unit and never beyond an int64, as upstream rounds and caps.
    number = min(Fraction(_ceil_away(number * _NANO), _NANO), Fraction(_MAX))
    return (-number if sign == "-" else number), family


def _scale(text: str, suffix: str) -> tuple[Fraction, str]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "DecimalSI"
    if suffix in _BINARY:
        return Fraction(_BINARY[suffix]), "BinarySI"
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise QuantityError(text)
    exponent = int(match[1])
    if abs(exponent) > _MAX_EXPONENT:
        raise QuantityError(text)
    return Fraction(10) ** exponent, "DecimalExponent"


def _ceil_away(number: Fraction) -> int:
    """Round away from zero."""
    return -(-number // 1) if number >= 0 else number // 1
