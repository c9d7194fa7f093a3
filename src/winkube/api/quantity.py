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
_EXPONENTS: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _EXPONENTS.items()}
_QUICK_DIGITS: Final = 18
_NANO: Final = 10**9
_MAX: Final = 2**63 - 1
# A longer text is hostile: nobody writes 60 digits, and exponents this size would fill memory.
_MAX_LENGTH: Final = 64
_MAX_EXPONENT: Final = 100

INVALID: Final = (
    "quantities must match the regular expression "
    r"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)

INVALID_SUFFIX: Final = "unable to parse quantity's suffix"


class QuantityError(BadRequestError):
    def __init__(self, text: object, message: str = INVALID) -> None:
        super().__init__(message)
        self.text = text


def parse_quantity(value: str | int | float) -> Fraction:
    return _parse(value if isinstance(value, str) else repr(value))[0]


def split_quantity(value: str | int | float) -> tuple[Fraction, str]:
    """The number, and the family of suffixes it was written in."""
    return _parse(value if isinstance(value, str) else repr(value))


def to_milli(value: str | int | float) -> int:
    """Thousandths, rounded up (CPU)."""
    return -((-parse_quantity(value) * 1000) // 1)


def to_bytes(value: str | int | float) -> int:
    """Whole units, rounded up (memory, storage, counts)."""
    return -(-parse_quantity(value) // 1)


@functools.lru_cache(maxsize=4096)
def canonical_quantity(value: str | int | float) -> str:
    """The text the API server gives back for this one."""
    text = value.strip() if isinstance(value, str) else repr(value)
    number, family = _parse(text)
    return text if _is_kept(text, family) else format_quantity(number, family)


def _is_kept(text: str, family: str) -> bool:
    """Whether upstream's quick path takes the author's text for canonical: ``47.707M`` is."""
    match = _QUANTITY.fullmatch(text)
    if match is None or family == "BinarySI":
        return False
    digits, fraction = (match[2].lstrip("0") or "0") + (match[3] or ""), len(match[3] or "")
    exponent = _EXPONENTS.get(match[4])
    scale = (int(match[4][1:]) if exponent is None else exponent) - fraction
    quick = len(digits) <= _QUICK_DIGITS and scale >= -9
    return quick and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


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
    while nano % 1000 == 0 and (zeros < 9 or family == "DecimalExponent"):
        nano //= 1000
        zeros += 1
    exponent = zeros * 3 - 9
    if family == "DecimalExponent":
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_SUFFIXES[exponent]}"


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
    # Never finer than a nano unit; binary quantities never beyond an int64, as upstream caps.
    number = Fraction(_ceil_away(number * _NANO), _NANO)
    if family == "BinarySI":
        number = min(number, Fraction(_MAX))
    return (-number if sign == "-" else number), family


def _scale(text: str, suffix: str) -> tuple[Fraction, str]:
    if suffix in _EXPONENTS:
        return Fraction(10) ** _EXPONENTS[suffix], "DecimalSI"
    if suffix in _BINARY:
        return Fraction(_BINARY[suffix]), "BinarySI"
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        known = not set(suffix.rstrip("0123456789")) - set("eEinumkKMGTP-+")
        raise QuantityError(text, INVALID_SUFFIX if known else INVALID)
    exponent = int(match[1])
    if abs(exponent) > _MAX_EXPONENT:
        raise QuantityError(text, INVALID_SUFFIX)
    return Fraction(10) ** exponent, "DecimalExponent"


def _ceil_away(number: Fraction) -> int:
    """Round away from zero."""
    return -(-number // 1) if number >= 0 else number // 1
