"""Services."""

from typing import Any, Final

from winkube.api import names
from winkube.api.validation.common import (
    IMMUTABLE,
    PROTOCOLS,
    check_cidr,
    check_label_key,
    check_labels,
    check_one_of,
    check_point_name,
    check_port,
    check_port_or_name,
    in_range,
    is_ip,
)
from winkube.api.validation.common import check_ip as check_address
from winkube.api.validation.network.endpoints import check_endpoint_ip
from winkube.api.validation.network.service_address import (
    check_address_change,
    check_cluster_addresses,
    check_family_change,
    is_headless,
)
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_LB_ONLY: Final = "may only be used when `type` is 'LoadBalancer'"
_MAX_AFFINITY: Final = 86400
_POLICIES: Final = ("Cluster", "Local")
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"
_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"


def validate_service(obj: JsonObject, problems: Problems) -> None:
    """Of a new service."""
    _check(obj, {}, problems)


def _check(obj: JsonObject, old: JsonObject, problems: Problems) -> None:
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    notes = (obj.get("metadata") or {}).get("annotations") or {}
    if _MODE in notes and _HINTS in notes and notes[_MODE] != notes[_HINTS]:
        text = f"must match annotations[{_HINTS}] when both are specified"
        problems.invalid(f"metadata.annotations[{_MODE}]", notes[_MODE], text)
    if not spec.get("ports") and not is_headless(spec) and spec.get("type") != "ExternalName":
        problems.required("spec.ports")
    _check_type(spec, problems)
    _check_ports(spec.get("ports") or (), problems)
    check_labels(spec.get("selector"), "spec.selector", problems)
    _check_affinity(spec, problems)
    check_cluster_addresses(spec, before, problems)
    _check_outside(spec, before, problems)
    check_one_of(spec.get("type"), _TYPES, "spec.type", problems)
    _check_numbers(spec, problems)
    _check_ranges(spec, before, notes, old, problems)
    balanced = spec.get("type") == "LoadBalancer"
    if spec.get("allocateLoadBalancerNodePorts") is not None and not balanced:
        problems.forbidden("spec.allocateLoadBalancerNodePorts", _LB_ONLY)
    _check_class(spec, problems)
    _check_traffic(spec, problems)


def _check_type(spec: JsonObject, problems: Problems) -> None:
    kind = spec.get("type")
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        problems.invalid(
            "spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"
        )
    if kind != "ExternalName":
        return
    for field in ("clusterIPs", "ipFamilies"):
        if spec.get(field):
            problems.forbidden(f"spec.{field}", "may not be set for ExternalName services")
    if spec.get("ipFamilyPolicy") is not None:
        problems.forbidden("spec.ipFamilyPolicy", "may not be set for ExternalName services")
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        problems.required("spec.externalName")
    else:
        problems.all_invalid("spec.externalName", name, names.dns_subdomain_problems(name))


def _check_ports(ports: Any, problems: Problems) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        _check_port_name(port, seen, path, problems, required=len(ports) > 1)
        check_port(port.get("port"), f"{path}.port", problems)
        check_one_of(port.get("protocol"), PROTOCOLS, f"{path}.protocol", problems)
        check_port_or_name(port.get("targetPort"), f"{path}.targetPort", problems)
        if port.get("appProtocol") is not None:
            check_label_key(port["appProtocol"], f"{path}.appProtocol", problems)


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


def _check_outside(spec: JsonObject, before: JsonObject, problems: Problems) -> None:
    known = before.get("externalIPs") or ()
    for index, address in enumerate(spec.get("externalIPs") or ()):
        here = f"spec.externalIPs[{index}]"
        if address not in known:
            check_address(address, here, problems)
        if is_ip(address):
            check_endpoint_ip(address, here, problems)


def _check_numbers(spec: JsonObject, problems: Problems) -> None:
    """Node ports belong to some types, and no number is there twice."""
    ports = spec.get("ports") or ()
    if spec.get("type") == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                text = "may not be used when `type` is 'ClusterIP'"
                problems.forbidden(f"spec.ports[{index}].nodePort", text)
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        number = port.get("nodePort")
        if not number:
            continue
        if (port.get("protocol"), number) in seen:
            problems.duplicate(f"spec.ports[{index}].nodePort", number)
        seen.add((port.get("protocol"), number))
    seen.clear()
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            shown = {"Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1]}
            whole = {**shown, "TargetPort": 0, "NodePort": 0}
            problems.duplicate(f"spec.ports[{index}]", whole)
        seen.add(key)


def _check_ranges(
    spec: JsonObject, before: JsonObject, notes: JsonObject, old: JsonObject, problems: Problems
) -> None:
    balanced, ranges = spec.get("type") == "LoadBalancer", spec.get("loadBalancerSourceRanges")
    if ranges:
        path = "spec.LoadBalancerSourceRanges"
        known = {cidr.strip() for cidr in before.get("loadBalancerSourceRanges") or ()}
        if not balanced:
            problems.forbidden(path, _LB_ONLY)
        for index, cidr in enumerate(ranges):
            if cidr.strip() not in known:
                check_cidr(cidr.strip(), f"{path}[{index}]", problems)
    elif _RANGES in notes:
        path = f"metadata.annotations[{_RANGES}]"
        if not balanced:
            problems.forbidden(path, _LB_ONLY)
        kept = ((old.get("metadata") or {}).get("annotations") or {}).get(_RANGES)
        if kept != notes[_RANGES] and notes[_RANGES].strip():
            for cidr in notes[_RANGES].strip().split(","):
                check_cidr(cidr.strip(), path, problems)


def _check_class(spec: JsonObject, problems: Problems) -> None:
    cls = spec.get("loadBalancerClass")
    if cls is None:
        return
    if spec.get("type") != "LoadBalancer":
        problems.forbidden("spec.loadBalancerClass", _LB_ONLY)
    else:
        check_label_key(cls, "spec.loadBalancerClass", problems)


def _check_traffic(spec: JsonObject, problems: Problems) -> None:
    kind, policy = spec.get("type"), spec.get("externalTrafficPolicy") or ""
    exposed = kind in ("LoadBalancer", "NodePort") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    path = "spec.externalTrafficPolicy"
    if not exposed and policy:
        problems.invalid_enum(path, policy, "may only be set for externally-accessible services")
    elif exposed:
        check_one_of(policy, _POLICIES, path, problems)
    _check_health(spec, problems)
    internal = spec.get("internalTrafficPolicy")
    if internal is None and kind in ("ClusterIP", "LoadBalancer", "NodePort"):
        problems.required("spec.internalTrafficPolicy")
    elif internal is not None and internal not in _POLICIES:
        problems.unsupported("spec.internalTrafficPolicy", internal, _POLICIES)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        problems.unsupported_text("spec.trafficDistribution", distribution, _DISTRIBUTIONS)


def _is_checked(spec: JsonObject) -> bool:
    local = spec.get("externalTrafficPolicy") == "Local"
    return spec.get("type") == "LoadBalancer" and local


def _check_health(spec: JsonObject, problems: Problems) -> None:
    path, health = "spec.healthCheckNodePort", spec.get("healthCheckNodePort") or 0
    if _is_checked(spec):
        if not health:
            problems.required(path)
        elif not 1 <= health <= 65535:
            problems.invalid(path, health, in_range(1, 65535))
    elif health:
        problems.invalid(
            path,
            health,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        )


def validate_service_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """Upstream looks at the change before the service itself."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    check_address_change(after, before, problems)
    check_family_change(after, before, problems)
    cls = "loadBalancerClass"
    both = {after.get("type"), before.get("type")} == {"LoadBalancer"}
    if both and after.get(cls) != before.get(cls):
        problems.invalid_enum(f"spec.{cls}", after.get(cls), "may not change once set")
    _check_class(after, problems)
    health = "healthCheckNodePort"
    if _is_checked(after) and _is_checked(before) and after.get(health) != before.get(health):
        problems.forbidden(f"spec.{health}", IMMUTABLE)
    _check(new, old, problems)


_IP_MODES: Final = ("Proxy", "VIP")


def validate_service_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    status, path = new.get("status") or {}, "status.loadBalancer.ingress"
    ingress = (status.get("loadBalancer") or {}).get("ingress") or ()
    if ingress and (new.get("spec") or {}).get("type") != "LoadBalancer":
        problems.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    before = ((old.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    known = {entry.get("ip") for entry in before}
    for index, entry in enumerate(ingress):
        _check_ingress(entry, known, f"{path}[{index}]", problems)


def _check_ingress(entry: JsonObject, known: set[Any], path: str, problems: Problems) -> None:
    address, mode, host = entry.get("ip") or "", entry.get("ipMode"), entry.get("hostname") or ""
    if address and address not in known:
        check_address(address, f"{path}.ip", problems)
    if mode is None:
        if address:
            problems.required(f"{path}.ipMode", "must be specified when `ip` is set")
    elif not address:
        problems.forbidden(f"{path}.ipMode", "may not be specified when `ip` is not set")
    elif mode not in _IP_MODES:
        problems.unsupported(f"{path}.ipMode", mode, _IP_MODES)
    if host:
        check_point_name(host, f"{path}.hostname", problems)
