"""Reading documents the way HNS does: keys without regard to case, numbers also as strings."""

from collections.abc import Iterable, Mapping
from ipaddress import (
    AddressValueError,
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    NetmaskValueError,
)
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.hns.errors import Code, HnsError

Address = IPv4Address | IPv6Address
Prefix = IPv4Network | IPv6Network
PRIVATE: Final = "_"  # what the service keeps beside a document and never shows
_EPOCH_SHIFT: Final = 11_644_473_600  # seconds from 1601, where Windows time begins, to 1970


def fold_keys(document: object, keys: Iterable[str], code: Code) -> JsonObject:
    """Copy with known keys in their own spelling; unknown keys stay (newer clients send more)."""
    if not isinstance(document, Mapping):
        raise HnsError(code)
    spelling = {key.casefold(): key for key in keys}
    return {
        spelling.get(str(key).casefold(), str(key)): value
        for key, value in document.items()
        if value is not None and key != PRIVATE
    }


def public(document: JsonObject) -> JsonObject:
    return {key: value for key, value in document.items() if key != PRIVATE}


def list_of(document: JsonObject, key: str, code: Code) -> list[Any]:
    value = document.get(key) or []
    if not isinstance(value, list):
        raise HnsError(code)
    return value


def text_of(document: JsonObject, key: str, code: Code) -> str:
    value = document.get(key, "")
    if not isinstance(value, str):
        raise HnsError(code)
    return value


def number_of(value: object, names: Mapping[str, int], code: Code) -> int:
    """A flag or enum: clients send numbers, the published schema says names; take both."""
    if isinstance(value, bool) or value is None:
        return int(value or 0)
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        folded = {name.casefold(): number for name, number in names.items()}
        parts = [part.strip().casefold() for part in value.split(",") if part.strip()]
        if all(part in folded for part in parts):
            return sum(folded[part] for part in parts)
        if value.isdigit():
            return int(value)
    raise HnsError(code)


def parse_ip(text: object, code: Code = Code.INVALID_IP) -> IPv4Address:
    """An IPv4 address; a mask behind it is accepted, as HNS does for addresses of endpoints."""
    if not isinstance(text, str):
        raise HnsError(code)
    try:
        return IPv4Address(text.split("/")[0].strip())
    except AddressValueError:
        raise HnsError(code) from None


def parse_address(text: object, *, dual: bool, code: Code = Code.INVALID_IP) -> Address:
    """An address of either family, where the host has both."""
    if not dual or not isinstance(text, str) or ":" not in text:
        return parse_ip(text, code)
    try:
        return IPv6Address(_without_zone(text.split("/")[0].strip()))
    except ValueError:
        raise HnsError(code) from None


def parse_subnet(text: object, *, dual: bool, code: Code = Code.INVALID_PREFIX) -> Prefix:
    if not dual or not isinstance(text, str) or ":" not in text:
        return parse_prefix(text, code)
    try:
        return IPv6Network(_without_zone(text.strip()), strict=False)
    except ValueError:
        raise HnsError(code) from None


def _without_zone(text: str) -> str:
    """A zone may hold any character, and addresses become parts of commands."""
    if "%" in text:
        raise ValueError(text)
    return text


def parse_prefix(text: object, code: Code = Code.INVALID_PREFIX) -> IPv4Network:
    if not isinstance(text, str):
        raise HnsError(code)
    try:
        return IPv4Network(text.strip(), strict=False)
    except (AddressValueError, NetmaskValueError, ValueError):
        raise HnsError(code) from None


def to_filetime(seconds: float) -> int:
    """Windows time: tenths of microseconds since 1601."""
    return int((seconds + _EPOCH_SHIFT) * 10_000_000)
