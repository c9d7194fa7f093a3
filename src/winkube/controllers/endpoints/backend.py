"""Which pods stand behind a service, at which addresses and ports: shared by both controllers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winkube.api.addresses import regular
from winkube.api.meta import is_deleting, labels_of, name_of, namespace_of, uid_of
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.controllers.indexes import LABELS
from winkube.controllers.pods import is_finished, is_ready, node_of

HEADLESS = "service.kubernetes.io/headless"

Port = tuple[str, int, str, str]
Ports = tuple[Port, ...]


@dataclass(frozen=True, slots=True)
class Backend:
    """One pod at one address: (name, port, protocol, appProtocol) for each service port."""

    address: str
    ports: Ports
    pod: JsonObject
    ready: bool
    serving: bool
    terminating: bool


def selected_pods(pods: Informer, service: JsonObject) -> list[JsonObject]:
    selector = (service["spec"].get("selector") or {}).items()
    found = [pods.by_index(LABELS, f"{namespace_of(service)}/{k}={v}") for k, v in selector]
    if not found:
        return []
    fewest = min(found, key=len)
    if len(found) == 1:
        return [*fewest]
    return [pod for pod in fewest if selector <= labels_of(pod).items()]


def is_managed(service: JsonObject) -> bool:
    spec = service.get("spec") or {}
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def is_headless(service: JsonObject) -> bool:
    return bool(service["spec"].get("clusterIP") == "None")


def families(service: JsonObject) -> Sequence[str]:
    given = service["spec"].get("ipFamilies")
    if given:
        return list(given)
    address = service["spec"].get("clusterIP") or ""
    return ["IPv6"] if ":" in address else ["IPv4"]


def pod_address(pod: JsonObject, family: str) -> str:
    status = pod.get("status") or {}
    listed = [entry.get("ip", "") for entry in status.get("podIPs") or ()]
    found = filter(None, map(regular, (*listed, status.get("podIP"))))
    return next((text for kind, text in found if kind == family), "")


def backends(service: JsonObject, pods: Sequence[JsonObject], family: str) -> list[Backend]:
    """The pods that may get traffic, in a stable order; also those about to end."""
    publish = bool(service["spec"].get("publishNotReadyAddresses"))
    found = []
    for pod in sorted(pods, key=name_of):
        address = pod_address(pod, family)
        if not address or is_finished(pod):
            continue
        serving, terminating = is_ready(pod), is_deleting(pod)
        found.append(
            Backend(
                address=address,
                ports=resolve_ports(service, pod),
                pod=pod,
                ready=publish or (serving and not terminating),
                serving=serving,
                terminating=terminating,
            )
        )
    return found


def resolve_ports(service: JsonObject, pod: JsonObject) -> Ports:
    """Service ports as this pod has them; a named port it does not have is left out."""
    found = []
    for port in service["spec"].get("ports") or ():
        protocol = port.get("protocol") or "TCP"
        number = _target(port.get("targetPort", port["port"]), protocol, port["port"], pod)
        if number is not None:
            found.append((port.get("name", ""), number, protocol, port.get("appProtocol") or ""))
    return tuple(found)


def _target(target: Any, protocol: str, default: int, pod: JsonObject) -> int | None:
    if isinstance(target, int):
        return target or default
    spec = pod.get("spec") or {}
    sidecars = [
        each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
    ]
    for container in (*(spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            if port.get("name") == target and (port.get("protocol") or "TCP") == protocol:
                return int(port["containerPort"])
    return int(target) if target.isdigit() else None


def to_ports(ports: Ports) -> list[JsonObject]:
    return [
        {"name": name, "port": number, "protocol": protocol}
        | ({"appProtocol": application} if application else {})
        for name, number, protocol, application in ports
    ]


def target_ref(pod: JsonObject) -> JsonObject:
    return {
        "kind": "Pod",
        "namespace": namespace_of(pod),
        "name": name_of(pod),
        "uid": uid_of(pod),
    }


def hostname(service: JsonObject, pod: JsonObject) -> str:
    """A pod has a DNS name of its own below a service whose name is its subdomain."""
    spec = pod.get("spec") or {}
    return str(spec.get("hostname") or "") if spec.get("subdomain") == name_of(service) else ""


def fingerprint(pod: JsonObject | None) -> Any:
    """Everything about a pod that can change an endpoint."""
    if pod is None:
        return None
    status = pod.get("status") or {}
    addresses = (status.get("podIP"), str(status.get("podIPs")))
    state = (is_ready(pod), is_deleting(pod), is_finished(pod), node_of(pod))
    spec = pod.get("spec") or {}
    return (labels_of(pod), addresses, state, spec.get("hostname"), spec.get("subdomain"))
