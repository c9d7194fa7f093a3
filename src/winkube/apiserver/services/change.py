"""What an update of a service leaves out and means to keep, and what a new type leaves behind."""

from typing import Any, Final

from winkube.base.types import JsonObject

WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")


def allocates_ports(spec: JsonObject) -> bool:
    """Whether its ports are given node ports without asking for them."""
    kind, wanted = spec.get("type"), spec.get("allocateLoadBalancerNodePorts") is not False
    return kind == "NodePort" or (kind == "LoadBalancer" and wanted)


def needs_health_check(spec: JsonObject) -> bool:
    local = spec.get("externalTrafficPolicy") == "Local"
    return spec.get("type") == "LoadBalancer" and local


def is_exposed(spec: JsonObject) -> bool:
    """Reachable from outside: by its type, or by addresses routed to it."""
    kind = spec.get("type")
    return kind in WITH_NODE_PORTS or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _node_ports(spec: JsonObject) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def keep_allocated(spec: JsonObject, old: JsonObject) -> None:
    """An update that leaves out what was allocated means to keep it."""
    if "ExternalName" not in (spec.get("type"), old.get("type")):
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and old.get(field):
                spec[field] = old[field]
    if allocates_ports(spec) and allocates_ports(old):
        used = _node_ports(old) & _node_ports(spec)
        known = {port.get("name") or "": port.get("nodePort") for port in old.get("ports") or ()}
        for port in spec.get("ports") or ():
            number = known.get(port.get("name") or "")
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    health = "healthCheckNodePort"
    if needs_health_check(spec) and needs_health_check(old) and not spec.get(health):
        spec[health] = old.get(health)


def drop_left_behind(new: JsonObject, old: JsonObject) -> None:
    """Fields that the new type has no use for go, if the update did not touch them."""
    spec, was = new.get("spec") or {}, old.get("spec") or {}
    kind, before = spec.get("type"), was.get("type")
    if kind == "ExternalName" != before:
        _drop_addresses(spec, was)
    bare = before in WITH_NODE_PORTS and kind not in WITH_NODE_PORTS
    if bare and _node_ports(spec) <= _node_ports(was):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    for useless, fields in (
        (needs_health_check(was) and not needs_health_check(spec), ("healthCheckNodePort",)),
        (before == "LoadBalancer" != kind, ("allocateLoadBalancerNodePorts", "loadBalancerClass")),
        (is_exposed(was) and not is_exposed(spec), ("externalTrafficPolicy",)),
    ):
        for field in fields if useless else ():
            _drop_same(spec, was, field)
    if kind != "LoadBalancer" and new.get("status"):
        new["status"] = {**new["status"], "loadBalancer": {}}


def _drop_addresses(spec: JsonObject, was: JsonObject) -> None:
    if _same(spec, was, "clusterIPs"):
        spec.pop("clusterIP", None)
        spec.pop("clusterIPs", None)
    for field in ("ipFamilies", "ipFamilyPolicy"):
        _drop_same(spec, was, field)


def _same(spec: JsonObject, was: JsonObject, field: str) -> bool:
    now: Any = spec.get(field)
    return bool((now or None) == (was.get(field) or None))


def _drop_same(spec: JsonObject, was: JsonObject, field: str) -> None:
    if _same(spec, was, field):
        spec.pop(field, None)
