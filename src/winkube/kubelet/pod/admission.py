"""What this node refuses to run, with upstream's reasons and words: pure checks.

(kubernetes: pkg/kubelet/lifecycle/handlers.go, predicate.go)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from winkube.api.quantity import parse_quantity
from winkube.base.types import JsonObject
from winkube.facts.node import NodeFeature, node_does
from winkube.facts.version import SERVED
from winkube.kubelet.errors import AdmissionError
from winkube.kubelet.pod import identity
from winkube.kubelet.spec.resources import pod_requests


@dataclass(frozen=True, slots=True)
class Host:
    """The node as admission sees it; ``used`` are the requests of pods admitted before."""

    os: str
    name: str
    labels: Mapping[str, str]
    taints: tuple[JsonObject, ...]
    allocatable: Mapping[str, Any]
    used: Mapping[str, Fraction]
    pods: int
    ports: frozenset[tuple[str, str, int]] = frozenset()
    kube_version: str = SERVED


def check_pod(pod: JsonObject, host: Host) -> None:
    """AdmissionError when the pod may not run here."""
    _check_os(pod, host)
    _check_resources(pod, host)
    if not matches_node(pod, host):
        raise AdmissionError("NodeAffinity", "Predicate NodeAffinity failed")
    taint = _untolerated(pod, host.taints)
    if taint is not None:
        raise AdmissionError("TaintToleration", "Predicate TaintToleration failed")
    if host.ports & host_ports(pod):
        raise AdmissionError("NodePorts", "Predicate NodePorts failed")


def _check_os(pod: JsonObject, host: Host) -> None:
    # The label is looked at on the pod itself, not in its node selector.
    label = (pod["metadata"].get("labels") or {}).get("kubernetes.io/os")
    if label is not None and label != host.os:
        raise AdmissionError(
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        )
    name = (pod["spec"].get("os") or {}).get("name")
    if name is not None and name != host.os:
        raise AdmissionError(
            "PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"
        )
    refused = host.os == "windows" and pod["spec"].get("resources")
    if refused and node_does(host.kube_version, NodeFeature.POD_RESOURCES_REFUSED):
        raise AdmissionError(
            "PodLevelResourcesNotSupported", "pod-level resources are not supported on Windows"
        )


def _check_resources(pod: JsonObject, host: Host) -> None:
    limit = host.allocatable.get("pods")
    if limit is not None and host.pods + 1 > parse_quantity(limit):
        raise _shortage("pods", Fraction(1), Fraction(host.pods), parse_quantity(limit))
    for resource, wanted in sorted(pod_requests(pod).items()):
        # An extended resource this node does not know is the cluster's, not ours to count.
        if wanted == 0 or ("/" in resource and resource not in host.allocatable):
            continue
        have = parse_quantity(host.allocatable.get(resource, 0))
        used = host.used.get(resource, Fraction(0))
        if used + wanted > have:
            scale = 1000 if resource == "cpu" else 1
            raise _shortage(resource, wanted * scale, used * scale, have * scale)


def _shortage(resource: str, wanted: Fraction, used: Fraction, have: Fraction) -> AdmissionError:
    return AdmissionError(
        f"OutOf{resource}",
        f"Node didn't have enough resource: {resource}, requested: {int(wanted)}, "
        f"used: {int(used)}, capacity: {int(have)}",
    )


def matches_node(pod: JsonObject, host: Host) -> bool:
    selector = pod["spec"].get("nodeSelector") or {}
    if any(host.labels.get(key) != value for key, value in selector.items()):
        return False
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_matches_term(term, host) for term in required.get("nodeSelectorTerms") or [])


def _matches_term(term: JsonObject, host: Host) -> bool:
    labels, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not labels and not fields:
        return False
    names = {"metadata.name": host.name}
    return all(_matches(rule, host.labels) for rule in labels) and all(
        _matches(rule, names) for rule in fields
    )


def _matches(rule: JsonObject, values: Mapping[str, str]) -> bool:
    key, wanted = rule["key"], rule.get("values") or []
    value = values.get(key)
    match rule["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, value, wanted)
    return False


def _compares(operator: str, value: str | None, wanted: list[str]) -> bool:
    try:
        have, limit = int(value or ""), int(wanted[0])
    except (ValueError, IndexError):
        return False
    return have > limit if operator == "Gt" else have < limit


def _untolerated(pod: JsonObject, taints: Iterable[JsonObject]) -> JsonObject | None:
    tolerations = pod["spec"].get("tolerations") or []
    for taint in taints:
        if taint.get("effect") == "NoExecute" and not any(
            tolerates(toleration, taint) for toleration in tolerations
        ):
            return taint
    return None


def tolerates(toleration: JsonObject, taint: JsonObject) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if (toleration.get("operator") or "Equal") == "Exists":
        return True
    return (toleration.get("value") or "") == (taint.get("value") or "") and bool(
        toleration.get("key")
    )


def host_ports(pod: JsonObject) -> frozenset[tuple[str, str, int]]:
    """(address, protocol, port) of every port this pod takes on the host."""
    host_network = identity.is_host_network(pod)
    taken = set()
    for container in identity.containers(pod):
        for port in container.get("ports") or []:
            number = port.get("hostPort") or (port["containerPort"] if host_network else 0)
            if number:
                address = port.get("hostIP") or "0.0.0.0"
                taken.add((address, port.get("protocol") or "TCP", int(number)))
    return frozenset(taken)
