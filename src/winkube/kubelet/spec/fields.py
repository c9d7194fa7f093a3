"""The downward API: values of fieldRef and resourceFieldRef."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from winkube.api.go.text import quoted
from winkube.api.quantity import parse_quantity
from winkube.base.types import JsonObject
from winkube.kubelet.errors import KubeletError
from winkube.kubelet.pod import identity
from winkube.kubelet.spec.resources import limits_of, requests_of

_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The node's side of the downward API."""

    name: str
    ips: tuple[str, ...]
    allocatable: Mapping[str, Any]


def field_value(pod: JsonObject, path: str, facts: NodeFacts, ips: tuple[str, ...]) -> str:
    match = _SUBSCRIPT.fullmatch(path)
    if match:
        return str((pod["metadata"].get(match[1]) or {}).get(match[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        return _to_lines(pod["metadata"].get(path.partition(".")[2]) or {})
    spec = pod["spec"]
    values = {
        "metadata.name": identity.name_of(pod),
        "metadata.namespace": identity.namespace_of(pod),
        "metadata.uid": identity.uid_of(pod),
        "spec.nodeName": facts.name,
        "spec.serviceAccountName": spec.get("serviceAccountName") or "default",
        "status.hostIP": facts.ips[0],
        "status.hostIPs": ",".join(facts.ips),
        "status.podIP": ips[0] if ips else "",
        "status.podIPs": ",".join(ips),
    }
    if path not in values:
        raise KubeletError(f"unsupported fieldPath: {path}")
    return str(values[path])


def _to_lines(pairs: Mapping[str, str]) -> str:
    """Go-quoted ``key="value"`` lines, sorted, as the downward API volume writes them."""
    lines = [f"{key}={quoted(value)}" for key, value in sorted(pairs.items())]
    return "\n".join(lines)


def resource_value(
    pod: JsonObject, reference: JsonObject, container: JsonObject, facts: NodeFacts
) -> str:
    """A container's request or limit in units of the divisor, rounded up."""
    named = reference.get("containerName")
    if named:
        found = identity.find_container(pod, named)
        if found is None:
            raise KubeletError(f"container {named} not found")
        container = found
    side, _, resource = str(reference["resource"]).partition(".")
    source = {"limits": limits_of, "requests": requests_of}.get(side)
    if source is None:
        raise KubeletError(f"unsupported container resource : {reference['resource']}")
    amount = source(container).get(resource)
    if amount is None:
        # A container without a limit may use what the node has.
        amount = facts.allocatable.get(resource, 0) if side == "limits" else 0
    divisor = parse_quantity(reference.get("divisor") or "1") or Fraction(1)
    return str(-(-parse_quantity(amount) // divisor))
