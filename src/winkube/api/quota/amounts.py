"""Resource lists as numbers: added, compared and shown as upstream does (apiserver: pkg/quota/v1).

An amount is a whole number of nano units, the finest a quantity can be, with the family of suffixes
its author used: a sum is written the way its first part was.
"""

import functools
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from winkube.api.quantity import QuantityError, format_quantity, split_quantity

_NANO: Final = 10**9


class Amount(NamedTuple):
    nano: int
    family: str = "DecimalSI"

    def __str__(self) -> str:
        return _shown(self.nano, self.family)

    @property
    def number(self) -> Fraction:
        return Fraction(self.nano, _NANO)

    def plus(self, other: "Amount") -> "Amount":
        return Amount(self.nano + other.nano, self.family if self.nano else other.family)

    def minus(self, other: "Amount") -> "Amount":
        return Amount(self.nano - other.nano, self.family if self.nano else other.family)


Amounts = dict[str, Amount]
ZERO: Final = Amount(0)
ONE: Final = Amount(_NANO)


def whole(count: int) -> Amount:
    return Amount(count * _NANO)


@functools.lru_cache(maxsize=4096)
def _shown(nano: int, family: str) -> str:
    return format_quantity(Fraction(nano, _NANO), family)


@functools.lru_cache(maxsize=4096)
def _amount(value: str | int | float) -> Amount:
    try:
        number, family = split_quantity(value)
    except QuantityError:
        return ZERO  # decoding and validation have their say about it
    return Amount(int(number * _NANO), family)


def amount(value: Any) -> Amount:
    return _amount(value) if isinstance(value, str | int | float) else ZERO


def amounts(resources: Mapping[str, Any] | None) -> Amounts:
    """A ResourceList of the API."""
    return {name: amount(value) for name, value in (resources or {}).items()}


def to_json(resources: Amounts) -> dict[str, str]:
    return {name: str(value) for name, value in sorted(resources.items())}


def show(resources: Amounts) -> str:
    """As refusals list them: ``cpu=1,pods=2``."""
    return ",".join(f"{name}={value}" for name, value in sorted(resources.items()))


def add(one: Amounts, other: Amounts) -> Amounts:
    total = dict(one)
    add_to(total, other)
    return total


def add_to(total: Amounts, other: Amounts) -> None:
    for name, value in other.items():
        before = total.get(name)
        total[name] = value if before is None else before.plus(value)


def raise_to(highest: Amounts, other: Amounts) -> None:
    """Each resource becomes the larger of the two, in place."""
    for name, value in other.items():
        before = highest.get(name)
        if before is None or value.nano > before.nano:
            highest[name] = value


def growth(new: Amounts, old: Amounts) -> Amounts:
    """What ``new`` has beyond ``old``; never negative."""
    grown = {}
    for name in {**new, **old}:
        left = new.get(name, ZERO).minus(old.get(name, ZERO)) if name in new else ZERO
        grown[name] = left if left.nano > 0 else ZERO
    return grown


def mask(resources: Amounts, names: Iterable[str]) -> Amounts:
    wanted = set(names)
    return {name: value for name, value in resources.items() if name in wanted}


def without_zeros(resources: Amounts) -> Amounts:
    return {name: value for name, value in resources.items() if value.nano}


def exceeded(resources: Amounts, limits: Amounts) -> list[str]:
    """The resources that are above their limit."""
    return [
        name
        for name, value in resources.items()
        if name in limits and value.nano > limits[name].nano
    ]


def negative(resources: Amounts) -> list[str]:
    return [name for name, value in resources.items() if value.nano < 0]


def equal(one: Amounts, other: Amounts) -> bool:
    return one.keys() == other.keys() and all(
        value.nano == other[name].nano for name, value in one.items()
    )
