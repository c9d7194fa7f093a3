"""ACL policies of endpoints: parsed once into values that a dataplane can order and render."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from winkube.base.types import JsonObject
from winkube.hns.document import fold_keys, number_of, parse_prefix
from winkube.hns.errors import Code, HnsError
from winkube.hns.policy import MAX_PORT, settings_of

_KEYS: Final = (
    "Protocols",
    "Protocol",
    "Action",
    "Direction",
    "LocalAddresses",
    "RemoteAddresses",
    "LocalPorts",
    "RemotePorts",
    "RuleType",
    "Priority",
    "Id",
)
_ANY_PROTOCOL: Final = 256
_LAST: Final = 65_535  # the priority of a rule that names none
_PORTS: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


@dataclass(frozen=True, slots=True)
class Acl:
    inbound: bool
    allow: bool
    priority: int
    protocols: tuple[int, ...] = ()
    local: tuple[str, ...] = ()
    remote: tuple[str, ...] = ()
    local_ports: tuple[str, ...] = ()
    remote_ports: tuple[str, ...] = ()


def plan_acls(policies: Iterable[JsonObject]) -> tuple[Acl, ...]:
    """In the order they apply: lowest priority number first."""
    rules = [_parse(item) for item in settings_of(policies, "ACL")]
    return tuple(sorted(rules, key=lambda rule: rule.priority))


def _parse(item: JsonObject) -> Acl:
    settings = fold_keys(item, _KEYS, Code.INVALID_POLICY)
    action = str(settings.get("Action", "")).casefold()
    direction = str(settings.get("Direction", "")).casefold()
    if action not in ("allow", "block", "pass") or direction not in ("in", "out"):
        raise HnsError(Code.INVALID_POLICY)
    protocols = _split(settings.get("Protocols") or settings.get("Protocol"))
    numbers = tuple(number_of(text, _PROTOCOLS, Code.INVALID_POLICY) for text in protocols)
    return Acl(
        inbound=direction == "in",
        allow=action != "block",
        priority=number_of(settings.get("Priority"), {}, Code.INVALID_POLICY) or _LAST,
        protocols=() if _ANY_PROTOCOL in numbers else numbers,
        local=_prefixes(settings.get("LocalAddresses")),
        remote=_prefixes(settings.get("RemoteAddresses")),
        local_ports=_ports(settings.get("LocalPorts")),
        remote_ports=_ports(settings.get("RemotePorts")),
    )


_PROTOCOLS: Final = {"tcp": 6, "udp": 17, "icmp": 1, "any": _ANY_PROTOCOL}


def _split(value: object) -> list[str]:
    if value in (None, "", 0):
        return []
    return [part.strip() for part in str(value).split(",") if part.strip()]


def _prefixes(value: object) -> tuple[str, ...]:
    found = {parse_prefix(part, Code.INVALID_POLICY) for part in _split(value)}
    return tuple(
        str(one)
        for one in sorted(found)
        if not any(one != other and one.subnet_of(other) for other in found)
    )


def _ports(value: object) -> tuple[str, ...]:
    found = []
    for part in _split(value):
        match = _PORTS.fullmatch(part)
        if match is None or any(int(port or 0) > MAX_PORT for port in match.groups()):
            raise HnsError(Code.INVALID_POLICY)
        found.append(part)
    return tuple(found)
