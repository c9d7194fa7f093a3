"""Endpoints and EndpointSlices."""

import ipaddress
from collections.abc import Callable, Sequence
from typing import Any, Final

from winkube.api import names
from winkube.api.addresses import address_problems, is_v4, parse_address, strict_address_problems
from winkube.api.validation.common import (
    PROTOCOLS,
    check_given,
    check_immutable,
    check_ip,
    check_label_key,
    check_one_of,
    check_port,
)
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_MAX_ENDPOINTS: Final = 1000
_MAX_ADDRESSES: Final = 100
_MAX_PORTS: Final = 20000
_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")


def check_endpoint_ip(address: str, path: str, problems: Problems) -> None:
    """An address traffic is sent to cannot be one that means this host or a group."""
    ip = parse_address(address)
    if ip is None:
        problems.invalid(path, address, "must be a valid IP address")
        return
    for bad, word in (
        (ip.is_unspecified, f"unspecified ({address})"),
        (ip.is_loopback, "in the loopback range (127.0.0.0/8, ::1/128)"),
        (ip.is_link_local, "in the link-local range (169.254.0.0/16, fe80::/10)"),
        (_is_local_multicast(ip), "in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ):
        if bad:
            problems.invalid(path, address, f"may not be {word}")


def _is_local_multicast(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(ip, ipaddress.IPv4Address):
        return ip in ipaddress.IPv4Network("224.0.0.0/24")
    return ip in ipaddress.IPv6Network("ff02::/16")


def validate_endpoints(obj: JsonObject, problems: Problems) -> None:
    for index, subset in enumerate(obj.get("subsets") or ()):
        path, ports = f"subsets[{index}]", subset.get("ports") or ()
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            problems.required(path, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(subset.get(field) or ()):
                _check_address(address, f"{path}.{field}[{place}]", problems)
        for place, port in enumerate(ports):
            _check_port(port, f"{path}.ports[{place}]", problems, named=len(ports) > 1)


def _check_address(address: JsonObject, path: str, problems: Problems) -> None:
    ip, host, node = address.get("ip") or "", address.get("hostname"), address.get("nodeName")
    check_ip(ip, f"{path}.ip", problems)
    if host:
        problems.all_invalid(f"{path}.hostname", host, names.dns_label_problems(host))
    if node is not None:
        problems.all_invalid(f"{path}.nodeName", node, names.dns_subdomain_problems(node))
    check_endpoint_ip(ip, f"{path}.ip", problems)


def _check_port(port: JsonObject, path: str, problems: Problems, *, named: bool) -> None:
    name = port.get("name") or ""
    if name:
        problems.all_invalid(f"{path}.name", name, names.dns_label_problems(name))
    elif named:
        problems.required(f"{path}.name")
    check_port(port.get("port"), f"{path}.port", problems)
    check_one_of(port.get("protocol"), PROTOCOLS, f"{path}.protocol", problems)
    if port.get("appProtocol") is not None:
        check_label_key(port["appProtocol"], f"{path}.appProtocol", problems)


def validate_endpoint_slice(obj: JsonObject, problems: Problems) -> None:
    kind, endpoints = obj.get("addressType"), obj.get("endpoints") or ()
    check_one_of(kind, _ADDRESS_TYPES, "addressType", problems)
    _check_slice_ports(obj.get("ports") or [], problems)
    _check_endpoints(endpoints, kind, problems)


def _check_endpoints(endpoints: Sequence[JsonObject], kind: Any, problems: Problems) -> None:
    if len(endpoints) > _MAX_ENDPOINTS:
        problems.too_many("endpoints", len(endpoints), _MAX_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        _check_endpoint(endpoint, kind, f"endpoints[{index}]", problems)


def _check_slice_ports(ports: list[JsonObject], problems: Problems) -> None:
    if len(ports) > _MAX_PORTS:
        problems.too_many("ports", len(ports), _MAX_PORTS)
        return
    seen: set[str] = set()
    for index, port in enumerate(ports):
        here, name = f"ports[{index}]", port.get("name") or ""
        if name:
            problems.all_invalid(f"{here}.name", name, names.dns_label_problems(name))
        if name in seen:
            problems.duplicate(f"{here}.name", name)
        seen.add(name)
        check_given(port.get("protocol"), PROTOCOLS, f"{here}.protocol", problems)
        if port.get("appProtocol") is not None:
            check_label_key(port["appProtocol"], f"{here}.appProtocol", problems)


def _check_endpoint(endpoint: JsonObject, kind: Any, path: str, problems: Problems) -> None:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        problems.required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MAX_ADDRESSES:
        problems.too_many(f"{path}.addresses", len(addresses), _MAX_ADDRESSES)
    for index, address in enumerate(addresses):
        _check_slice_address(address, kind, f"{path}.addresses", index, problems)
    node, host = endpoint.get("nodeName"), endpoint.get("hostname")
    if node is not None:
        problems.all_invalid(f"{path}.nodeName", node, names.dns_subdomain_problems(node))
    if host is not None:
        problems.all_invalid(f"{path}.hostname", host, names.dns_label_problems(host))
    hints = endpoint.get("hints") or {}
    for field, check in _HINTS:
        _check_hints(hints.get(field) or [], check, f"{path}.hints.{field}", problems)


_MAX_HINTS: Final = 8
_HINTS: Final = (
    ("forZones", names.label_value_problems),
    ("forNodes", names.dns_subdomain_problems),
)


def _check_hints(
    hints: list[JsonObject],
    check: Callable[[str], Sequence[str]],
    path: str,
    problems: Problems,
) -> None:
    if len(hints) > _MAX_HINTS:
        problems.too_many(path, len(hints), _MAX_HINTS)
        return
    seen: set[str] = set()
    for index, hint in enumerate(hints):
        here, name = f"{path}[{index}].name", hint.get("name") or ""
        if name in seen:
            problems.duplicate(here, name)
        seen.add(name)
        problems.all_invalid(here, name, check(name))


def _check_slice_address(
    address: str, kind: Any, path: str, index: int, problems: Problems
) -> None:
    here = f"{path}[{index}]"
    if kind == "FQDN":
        _check_domain(address, here, problems)
    elif kind in ("IPv4", "IPv6"):
        find = strict_address_problems if kind == "IPv6" else address_problems
        details = find(address)
        if details:
            problems.all_invalid(here, address, details)
            return
        if kind != ("IPv4" if is_v4(address) else "IPv6"):
            problems.invalid(path, address, f"must be an {kind} address")
        check_endpoint_ip(address, here, problems)


def _check_domain(name: str, path: str, problems: Problems) -> None:
    if not name:
        problems.required(path)
        return
    bare = name.removesuffix(".")
    details = names.dns_subdomain_problems(bare)
    if details:
        problems.invalid(path, bare, ",".join(details))
    elif "." not in bare:
        text = "should be a domain with at least two segments separated by dots"
        problems.invalid(path, bare, text)


def validate_endpoint_slice_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """Endpoints that stay as they are were right once."""
    same = (new.get("endpoints") or []) == (old.get("endpoints") or [])
    validate_endpoint_slice({**new, "endpoints": []} if same else new, problems)
    check_immutable(new.get("addressType"), old.get("addressType"), "addressType", problems)
