"""The status of a pod, as its node and others report it."""

from typing import Any, Final

from winkube.api import names
from winkube.api.addresses import parse_address
from winkube.api.validation.common import check_immutable, check_ip
from winkube.api.validation.pod.pod_update import check_annotation_update
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_SYSTEM: Final = ("PodScheduled", "Ready", "Initialized")
_ONE_EACH: Final = "may specify no more than one IP for each IP family"
_NOT_BACK: Final = "may not be transitioned to non-terminated state"


def validate_pod_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    if new["metadata"].get("annotations") != old["metadata"].get("annotations"):
        check_annotation_update(new, old, problems)
    status, before = new.get("status") or {}, old.get("status") or {}
    _check_conditions(status.get("conditions") or (), problems)
    _check_nomination(status, before, problems)
    if (status.get("observedGeneration") or 0) < 0:
        text = "must be a non-negative integer"
        problems.invalid("status.observedGeneration", status["observedGeneration"], text)
    check_immutable(
        status.get("qosClass") or "", before.get("qosClass") or "", "status.qosClass", problems
    )
    _check_transitions(status, before, old.get("spec") or {}, problems)
    _check_claims(status, new.get("spec") or {}, problems)
    _check_addresses(status, before, "podIPs", problems)
    hosts = status.get("hostIPs") or ()
    if hosts:
        first = hosts[0].get("ip") or ""
        if first != (status.get("hostIP") or ""):
            problems.invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`")
        _check_addresses(status, before, "hostIPs", problems)


def _check_conditions(conditions: Any, problems: Problems) -> None:
    for index, condition in enumerate(conditions):
        here, kind = f"status.conditions[{index}]", condition.get("type") or ""
        if (condition.get("observedGeneration") or 0) < 0:
            text, value = "must be a non-negative integer", condition["observedGeneration"]
            problems.invalid(f"{here}.observedGeneration", value, text)
        if kind not in _SYSTEM:
            problems.all_invalid(f"{here}.Type", kind, names.label_key_problems(kind))


def _check_nomination(status: JsonObject, before: JsonObject, problems: Problems) -> None:
    path, node = "status.nominatedNodeName", status.get("nominatedNodeName") or ""
    if node and node != (before.get("nominatedNodeName") or ""):
        problems.all_invalid(path, node, names.dns_subdomain_problems(node))


def _check_transitions(
    status: JsonObject, before: JsonObject, spec: JsonObject, problems: Problems
) -> None:
    """What has ended for good does not come back."""
    policy = spec.get("restartPolicy")
    sidecars = {
        container.get("name")
        for container in spec.get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    }
    for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        if policy == "Always" and field != "ephemeralContainerStatuses":
            continue
        fresh = {entry.get("name"): entry for entry in status.get(field) or ()}
        for index, was in enumerate(before.get(field) or ()):
            ended = (was.get("state") or {}).get("terminated")
            now = fresh.get(was.get("name"))
            if ended is None or now is None:
                continue
            again = policy == "OnFailure" and ended.get("exitCode")
            if field != "ephemeralContainerStatuses" and (again or was.get("name") in sidecars):
                continue
            if (now.get("state") or {}).get("terminated") is None:
                problems.forbidden(f"status.{field}[{index}].state", _NOT_BACK)


def _check_claims(status: JsonObject, spec: JsonObject, problems: Problems) -> None:
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        path, name = f"status.resourceClaimStatuses[{index}].name", claim.get("name") or ""
        if name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            problems.invalid(path, name, text)
        if name in seen:
            problems.duplicate(path, name)
        seen.add(name)
        made = claim.get("resourceClaimName")
        if made is not None:
            problems.all_invalid_enum(path, made, names.dns_subdomain_problems(made))


def _check_addresses(
    status: JsonObject, before: JsonObject, field: str, problems: Problems
) -> None:
    entries = [entry.get("ip") or "" for entry in status.get(field) or ()]
    known = {entry.get("ip") for entry in before.get(field) or ()}
    for index, address in enumerate(entries):
        if address not in known:
            check_ip(address, f"status.{field}[{index}]", problems)
    parsed = [parse_address(address) for address in entries]
    families = {address.version for address in parsed if address is not None}
    if len(entries) > 1 and None in parsed:
        index = parsed.index(None)
        text = f"failed to check for dual stack with error:invalid IP[{index}]: {entries[index]}"
        problems.internal(f"status.{field}", text)
    if len(entries) > 1 and (len(families) != 2 or len(entries) > 2):
        shown = [{"IP": address} for address in entries]
        problems.invalid(f"status.{field}", shown, _ONE_EACH)
