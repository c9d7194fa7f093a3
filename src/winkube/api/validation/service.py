"""Services, Endpoints and EndpointSlices."""

import ipaddress
from typing import Any, Final

from winkube.api import names
from winkube.api.validation.common import (
    IMMUTABLE,
    PROTOCOLS,
    check_cidr,
    check_immutable,
    check_ip,
    check_label_key,
    check_labels,
    check_one_of,
    check_port,
    check_port_or_name,
    is_ip,
)
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_LB_ONLY: Final = "may only be used when `type` is 'LoadBalancer'"
_MAX_AFFINITY: Final = 86400
_MAX_ENDPOINTS: Final = 1000
_MAX_ADDRESSES: Final = 100
_MAX_PORTS: Final = 20000
_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")


def validate_service(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    headless = spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and spec.get("type") != "ExternalName":
        problems.required("spec.ports")
    _check_type(spec, problems, headless=headless)
    _check_ports(spec, problems)
    check_labels(spec.get("selector"), "spec.selector", problems)
    _check_affinity(spec, problems)
    _check_addresses(spec, problems)
    check_one_of(spec.get("type"), _TYPES, "spec.type", problems)
    _check_balancer(spec, problems)
    _check_traffic(spec, problems)


def _check_type(spec: JsonObject, problems: Problems, *, headless: bool) -> None:
    kind = spec.get("type")
    if kind in ("LoadBalancer", "NodePort") and headless:
        problems.invalid(
            "spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"
        )
    if kind != "ExternalName":
        return
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(field):
            problems.forbidden(f"spec.{field}", "may not be set for ExternalName services")
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        problems.required("spec.externalName")
    else:
        problems.all_invalid("spec.externalName", name, names.dns_subdomain_problems(name))


def _check_ports(spec: JsonObject, problems: Problems) -> None:
    ports = spec.get("ports") or ()
    seen_names: set[str] = set()
    seen_ports: set[tuple[Any, Any]] = set()
    seen_node_ports: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        _check_port_name(port, seen_names, path, problems, required=len(ports) > 1)
        check_port(port.get("port"), f"{path}.port", problems)
        check_one_of(port.get("protocol"), PROTOCOLS, f"{path}.protocol", problems)
        check_port_or_name(port.get("targetPort"), f"{path}.targetPort", problems)
        if port.get("appProtocol") is not None:
            check_label_key(port["appProtocol"], f"{path}.appProtocol", problems)
        key = (port.get("protocol"), port.get("port"))
        if key in seen_ports:
            problems.duplicate(path, {"protocol": key[0], "port": key[1]})
        seen_ports.add(key)
        _check_node_port(spec, port, seen_node_ports, path, problems)


def _check_node_port(
    spec: JsonObject, port: JsonObject, seen: set[tuple[Any, Any]], path: str, problems: Problems
) -> None:
    number = port.get("nodePort")
    if not number:
        return
    if spec.get("type") == "ClusterIP":
        problems.forbidden(f"{path}.nodePort", "may not be used when `type` is 'ClusterIP'")
    key = (port.get("protocol"), number)
    if key in seen:
        problems.duplicate(f"{path}.nodePort", number)
    seen.add(key)


def _check_port_name(
    port: JsonObject, seen: set[str], path: str, problems: Problems, *, required: bool
) -> None:
    name = port.get("name") or ""
    if not name:
        if required:
            problems.required(f"{path}.name")
        return
    problems.all_invalid(f"{path}.name", name, names.dns_label_problems(name))
    if name in seen:
        problems.duplicate(f"{path}.name", name)
    seen.add(name)


def _check_affinity(spec: JsonObject, problems: Problems) -> None:
    affinity, config = spec.get("sessionAffinity"), spec.get("sessionAffinityConfig")
    check_one_of(affinity, ("ClientIP", "None"), "spec.sessionAffinity", problems)
    path = "spec.sessionAffinityConfig"
    if affinity == "None" and config is not None:
        problems.forbidden(path, "must not be set when session affinity is None")
    if affinity != "ClientIP":
        return
    seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
    if seconds is None:
        problems.required(path, "when session affinity type is ClientIP")
    elif not 0 < seconds <= _MAX_AFFINITY:
        problems.invalid(
            f"{path}.clientIP.timeoutSeconds",
            seconds,
            f"must be greater than 0 and less than {_MAX_AFFINITY}",
        )


def _check_addresses(spec: JsonObject, problems: Problems) -> None:
    _check_cluster_ips(spec.get("clusterIP") or "", spec.get("clusterIPs") or [], problems)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        here = f"spec.externalIPs[{index}]"
        check_ip(address, here, problems)
        if is_ip(address):
            check_endpoint_ip(address, here, problems)
    families = spec.get("ipFamilies") or ()
    for index, family in enumerate(families):
        check_one_of(family, ("IPv4", "IPv6"), f"spec.ipFamilies[{index}]", problems)
        if family in families[:index]:
            problems.duplicate(f"spec.ipFamilies[{index}]", family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None:
        choices = ("PreferDualStack", "RequireDualStack", "SingleStack")
        check_one_of(policy, choices, "spec.ipFamilyPolicy", problems)


def _check_cluster_ips(first: str, every: list[str], problems: Problems) -> None:
    path = "spec.clusterIPs"
    if every and not first:
        problems.invalid(path, every, "must be empty when `clusterIP` is not specified")
    elif every and every[0] != first:
        problems.invalid(path, every, "first value must match `clusterIP`")
    if len(every) > 2:
        problems.invalid(path, every, "may only hold up to 2 values")
    if "None" in every and len(every) > 1:
        problems.invalid(path, every, "'None' must be the first and only value")
    for index, address in enumerate(every or ([first] if first else [])):
        if address != "None":
            check_ip(address, f"{path}[{index}]", problems)


def check_endpoint_ip(address: str, path: str, problems: Problems) -> None:
    """An address traffic is sent to cannot be one that means this host or a group."""
    ip = ipaddress.ip_address(address)
    for bad, word in (
        (ip.is_unspecified, "unspecified (0.0.0.0 or ::)"),
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


def _check_balancer(spec: JsonObject, problems: Problems) -> None:
    balanced = spec.get("type") == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges") or ()
    if ranges and not balanced:
        problems.forbidden("spec.LoadBalancerSourceRanges", _LB_ONLY)
    for index, cidr in enumerate(ranges):
        check_cidr(cidr.strip(), f"spec.LoadBalancerSourceRanges[{index}]", problems)
    if spec.get("allocateLoadBalancerNodePorts") is not None and not balanced:
        problems.forbidden("spec.allocateLoadBalancerNodePorts", _LB_ONLY)
    cls = spec.get("loadBalancerClass")
    if cls is not None:
        if not balanced:
            problems.forbidden("spec.loadBalancerClass", _LB_ONLY)
        check_label_key(cls, "spec.loadBalancerClass", problems)


def _check_traffic(spec: JsonObject, problems: Problems) -> None:
    kind, policy = spec.get("type"), spec.get("externalTrafficPolicy") or ""
    exposed = kind in ("LoadBalancer", "NodePort") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    path = "spec.externalTrafficPolicy"
    if not exposed and policy:
        problems.invalid(path, policy, "may only be set for externally-accessible services")
    elif exposed:
        check_one_of(policy, ("Cluster", "Local"), path, problems)
    health = spec.get("healthCheckNodePort")
    if health and not (kind == "LoadBalancer" and policy == "Local"):
        problems.invalid(
            "spec.healthCheckNodePort",
            health,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        )
    internal = spec.get("internalTrafficPolicy")
    if internal is not None:
        choices = ("Cluster", "Local")
        check_one_of(internal, choices, "spec.internalTrafficPolicy", problems)
    distribution = spec.get("trafficDistribution")
    if distribution is not None:
        places = ("PreferClose", "PreferSameZone", "PreferSameNode")
        check_one_of(distribution, places, "spec.trafficDistribution", problems)


def validate_service_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    # An ExternalName service has no address to keep.
    if "ExternalName" not in (after.get("type"), before.get("type")):
        now, was = after.get("clusterIP") or "", before.get("clusterIP") or ""
        if was and not now:
            shown = after.get("clusterIPs") or []
            problems.invalid("spec.clusterIPs[0]", shown, "primary clusterIP can not be unset")
        elif was and now != was:
            shown = after.get("clusterIPs") or [now]
            problems.invalid("spec.clusterIPs[0]", shown, "may not change once set")
    both = {after.get("type"), before.get("type")} == {"LoadBalancer"}
    if both:
        cls = "loadBalancerClass"
        if after.get(cls) != before.get(cls):
            problems.invalid(f"spec.{cls}", after.get(cls), "may not change once set")
        health = "healthCheckNodePort"
        if before.get(health) and after.get(health) and after[health] != before[health]:
            problems.forbidden(f"spec.{health}", IMMUTABLE)


def validate_endpoints(obj: JsonObject, problems: Problems) -> None:
    for index, subset in enumerate(obj.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            problems.required(path, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(subset.get(field) or ()):
                here, ip = f"{path}.{field}[{place}].ip", address.get("ip") or ""
                check_ip(ip, here, problems)
                if is_ip(ip):
                    check_endpoint_ip(ip, here, problems)
        for place, port in enumerate(subset.get("ports") or ()):
            here = f"{path}.ports[{place}]"
            check_port(port.get("port"), f"{here}.port", problems)
            check_one_of(port.get("protocol"), PROTOCOLS, f"{here}.protocol", problems)


def validate_endpoint_slice(obj: JsonObject, problems: Problems) -> None:
    kind, endpoints = obj.get("addressType"), obj.get("endpoints") or ()
    check_one_of(kind, _ADDRESS_TYPES, "addressType", problems)
    if len(endpoints) > _MAX_ENDPOINTS:
        problems.too_many("endpoints", len(endpoints), _MAX_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        _check_slice_addresses(endpoint, kind, f"endpoints[{index}]", problems)
    ports = obj.get("ports") or ()
    if len(ports) > _MAX_PORTS:
        problems.too_many("ports", len(ports), _MAX_PORTS)
    seen: set[str] = set()
    for index, port in enumerate(ports):
        here, name = f"ports[{index}]", port.get("name") or ""
        if name:
            problems.all_invalid(f"{here}.name", name, names.dns_label_problems(name))
        if name in seen:
            problems.duplicate(f"{here}.name", name)
        seen.add(name)
        check_one_of(port.get("protocol"), PROTOCOLS, f"{here}.protocol", problems)


def _check_slice_addresses(endpoint: JsonObject, kind: Any, path: str, problems: Problems) -> None:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        problems.required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MAX_ADDRESSES:
        problems.too_many(f"{path}.addresses", len(addresses), _MAX_ADDRESSES)
    for index, address in enumerate(addresses):
        here = f"{path}.addresses[{index}]"
        if kind == "FQDN":
            problems.all_invalid(here, address, names.dns_subdomain_problems(address))
        elif not is_ip(address):
            check_ip(address, here, problems)
        else:
            version = "IPv6" if ":" in address else "IPv4"
            if kind != version:
                problems.invalid(here, address, f"must be an {kind} address")
            check_endpoint_ip(address, here, problems)


def validate_endpoint_slice_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    check_immutable(new.get("addressType"), old.get("addressType"), "addressType", problems)
