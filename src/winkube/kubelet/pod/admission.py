"""What this node refuses to run, with upstream's reasons and words: pure checks.

(kubernetes: pkg/kubelet/lifecycle/handlers.go, predicate.go)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from winkube.api.quantity import parse_quantity
from winkube.api.selector import nodes
from winkube.api.selector.nodes import is_tolerated
from winkube.base.types import JsonObject
from winkube.facts.node import NodeFeature, node_does
from winkube.facts.version import SERVED
from winkube.kubelet.errors import AdmissionError
from winkube.kubelet.pod import identity
from winkube.kubelet.spec.resources import pod_requests

ANY_ADDRESS: Final = "0.0.0.0"
HostPort = tuple[str, str, int]  # address, protocol, number


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
    ports: frozenset[HostPort] = frozenset()
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
    if any(_clash(mine, taken) for mine in host_ports(pod) for taken in host.ports):
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
    node = {"metadata": {"name": host.name, "labels": host.labels}}
    return nodes.matches_node(pod["spec"], node)


def _untolerated(pod: JsonObject, taints: Iterable[JsonObject]) -> JsonObject | None:
    """Only what evicts counts here: the rest is the scheduler's."""
    tolerations = pod["spec"].get("tolerations") or []
    evicting = (taint for taint in taints if taint.get("effect") == "NoExecute")
    return next((each for each in evicting if not is_tolerated(tolerations, each)), None)


def _clash(one: HostPort, other: HostPort) -> bool:
    """The address of all is everybody's."""
    return one[1:] == other[1:] and (one[0] == other[0] or ANY_ADDRESS in (one[0], other[0]))


def host_ports(pod: JsonObject) -> frozenset[HostPort]:
    """Every port this pod takes on the host."""
    host_network = identity.is_host_network(pod)
    taken = set()
    for container in identity.containers(pod):
        for port in container.get("ports") or []:
            number = port.get("hostPort") or (port["containerPort"] if host_network else 0)
            if number:
                address = port.get("hostIP") or ANY_ADDRESS
                taken.add((address, port.get("protocol") or "TCP", int(number)))
    return frozenset(taken)
