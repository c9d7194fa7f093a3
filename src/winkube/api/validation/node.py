"""Nodes."""

from winkube.api.addresses import parse_network
from winkube.api.validation.common import check_cidr
from winkube.api.validation.pod.resources import check_quantity
from winkube.api.validation.pod.scheduling import check_taints
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject


def validate_node(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    # Upstream reports taints below metadata, and so do we.
    check_taints(spec.get("taints"), "metadata.taints", problems)
    _check_resources(obj, problems)
    swap = (((obj.get("status") or {}).get("nodeInfo") or {}).get("swap") or {}).get("capacity")
    if swap is not None and swap <= 0:
        problems.invalid("metadata.nodeSwapStatus.capacity", swap, "must be greater than zero")
    cidrs = spec.get("podCIDRs") or []
    for index, cidr in enumerate(cidrs):
        check_cidr(cidr, f"spec.podCIDRs[{index}]", problems)
    broken = next((i for i, cidr in enumerate(cidrs) if parse_network(cidr) is None), None)
    if len(cidrs) > 1 and broken is not None:
        cause = f"invalid CIDR[{broken}]: <nil> (invalid CIDR address: {cidrs[broken]})"
        text = f"invalid PodCIDRs. failed to check with dual stack with error:{cause}"
        problems.internal("spec.podCIDRs", text)
    families = {parsed[0].version for parsed in map(parse_network, cidrs) if parsed}
    if len(cidrs) > 1 and (len(families) != 2 or len(cidrs) > 2):
        text = "may specify no more than one CIDR for each IP family"
        problems.invalid("spec.podCIDRs", cidrs, text)


def _check_resources(obj: JsonObject, problems: Problems) -> None:
    status = obj.get("status") or {}
    for field in ("capacity", "allocatable"):
        for name, quantity in (status.get(field) or {}).items():
            check_quantity(name, quantity, f"status.{field}.{name}", problems)


def validate_node_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    _check_resources(new, problems)
    seen: list[JsonObject] = []
    for index, address in enumerate((new.get("status") or {}).get("addresses") or ()):
        shown = {"Type": address.get("type") or "", "Address": address.get("address") or ""}
        if shown in seen:
            problems.duplicate(f"status.addresses[{index}]", shown)
        seen.append(shown)
    was, now = before.get("podCIDRs") or [], after.get("podCIDRs") or []
    if was and was != now:
        text = 'node updates may not change podCIDR except from "" to valid'
        changed = sum(a != b for a, b in zip(was, now, strict=True)) if len(was) == len(now) else 1
        for _ in range(changed):
            problems.forbidden("spec.podCIDRs", text)
    if before.get("providerID") and after.get("providerID") != before["providerID"]:
        text = 'node updates may not change providerID except from "" to valid'
        problems.forbidden("spec.providerID", text)
    check_taints(after.get("taints"), "metadata.taints", problems)
    if (after.get("externalID") or "") != (before.get("externalID") or ""):
        problems.forbidden("spec.externalID", "may not be updated")
