"""What the scheduler knows of a pod, parsed once.

Pods made from one template share their scheduling needs. Those are a ``Shape``, parsed once and
looked up by the text of the fields it comes from; a ``PodInfo`` adds what differs from pod to pod.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from winkube.api.meta import controller_of, key_of, labels_of, namespace_of, uid_of
from winkube.api.quantity import to_bytes, to_milli
from winkube.base.types import JsonObject

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
# A container that asks for nothing still weighs this much when nodes are compared
# (kubernetes: pkg/scheduler/util/pod_resources.go).
DEFAULT_CPU: Final = 100
DEFAULT_MEMORY: Final = 200 * 1024 * 1024
REMEMBERED: Final = 2048

Port = tuple[str, str, int]
Resources = Mapping[str, int]

# Images that are built in, by how their names begin.
_SYSTEMS: Final = {
    "winkube.local/": "linux",
    "mcr.microsoft.com/windows": "windows",
    "microsoft/iis": "windows",
    "microsoft/windowsservercore": "windows",
    "microsoft/nanoserver": "windows",
}

_SPEC_FIELDS: Final = (
    "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints",
    "containers", "initContainers", "overhead", "resources", "hostNetwork", "priority",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    signature: bytes
    requests: Resources
    weight_cpu: int
    weight_memory: int
    ports: tuple[Port, ...]
    node_selector: Mapping[str, str]
    node_affinity: JsonObject
    pod_affinity: JsonObject
    pod_anti_affinity: JsonObject
    tolerations: tuple[JsonObject, ...]
    spread: tuple[JsonObject, ...]
    priority: int
    image_system: str = ""

    @property
    def simple(self) -> bool:
        """Other pods have no say in where this one may go, beyond taking up room."""
        return not self.pod_affinity and not self.pod_anti_affinity and not self.spread


@dataclass(slots=True, eq=False)
class PodInfo:
    key: str
    uid: str
    namespace: str
    labels: Mapping[str, str]
    owner: str
    shape: Shape
    node: str = field(default="")
    # Keys of the persistent volume claims it names.
    claims: tuple[str, ...] = ()

    @property
    def simple(self) -> bool:
        """Neither other pods nor volumes have a say in where this one may go."""
        return self.shape.simple and not self.claims


def resource_amount(name: str, value: Any) -> int:
    return to_milli(value) if name == CPU else to_bytes(value)


class ShapeCache:
    def __init__(self) -> None:
        self._shapes: OrderedDict[bytes, Shape] = OrderedDict()

    def pod(self, obj: JsonObject) -> PodInfo:
        owner = controller_of(obj)
        return PodInfo(
            key=key_of(obj),
            uid=uid_of(obj),
            namespace=namespace_of(obj),
            labels=labels_of(obj),
            owner="" if owner is None else owner["uid"],
            shape=self.shape(obj.get("spec") or {}),
            node=(obj.get("spec") or {}).get("nodeName") or "",
            claims=tuple(_claims(obj)),
        )

    def shape(self, spec: JsonObject) -> Shape:
        needs = {name: spec[name] for name in _SPEC_FIELDS if spec.get(name)}
        for kind in ("containers", "initContainers"):
            if kind in needs:
                needs[kind] = [_needs_of(container) for container in needs[kind]]
        if system := _image_system(spec):
            needs["imageSystem"] = system
        signature = orjson.dumps(needs, option=orjson.OPT_SORT_KEYS)
        found = self._shapes.get(signature)
        if found is None:
            found = self._shapes[signature] = _parse(signature, needs)
            if len(self._shapes) > REMEMBERED:
                self._shapes.popitem(last=False)
        return found


def _image_system(spec: JsonObject) -> str:
    """The one operating system that the names of the images speak of, if they do."""
    images = [str(container.get("image") or "") for container in spec.get("containers") or ()]
    systems = {
        system
        for image in images
        for start, system in _SYSTEMS.items()
        if image.removeprefix("docker.io/").startswith(start)
    }
    return systems.pop() if len(systems) == 1 else ""


def _claims(pod: JsonObject) -> Iterable[str]:
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield f"{namespace_of(pod)}/{volume['persistentVolumeClaim']['claimName']}"
        elif "ephemeral" in volume:
            yield f"{key_of(pod)}-{volume['name']}"


def _needs_of(container: JsonObject) -> JsonObject:
    ports = [port for port in container.get("ports") or () if port.get("hostPort")]
    return {
        "requests": (container.get("resources") or {}).get("requests") or {},
        "restartPolicy": container.get("restartPolicy"),
        "ports": ports,
    }


def _parse(signature: bytes, needs: JsonObject) -> Shape:
    containers, init = needs.get("containers") or [], needs.get("initContainers") or []
    affinity = needs.get("affinity") or {}
    sidecars = [each for each in init if each.get("restartPolicy") == "Always"]
    requests = pod_requests(needs, containers, init)
    return Shape(
        signature=signature,
        requests={name: amount for name, amount in requests.items() if amount},
        weight_cpu=_weight(requests, [*containers, *sidecars], CPU, DEFAULT_CPU),
        weight_memory=_weight(requests, [*containers, *sidecars], MEMORY, DEFAULT_MEMORY),
        ports=tuple(_host_ports([*containers, *sidecars])),
        node_selector=needs.get("nodeSelector") or {},
        node_affinity=affinity.get("nodeAffinity") or {},
        pod_affinity=affinity.get("podAffinity") or {},
        pod_anti_affinity=affinity.get("podAntiAffinity") or {},
        tolerations=tuple(needs.get("tolerations") or ()),
        spread=tuple(needs.get("topologySpreadConstraints") or ()),
        priority=int(needs.get("priority") or 0),
        image_system=str(needs.get("imageSystem") or ""),
    )


def pod_requests(
    needs: JsonObject, containers: Iterable[JsonObject], init: Iterable[JsonObject]
) -> dict[str, int]:
    """All containers together, or the largest moment of initialisation if that is more."""
    total: dict[str, int] = {}
    for container in containers:
        _add(total, container["requests"])
    running: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in init:
        if container.get("restartPolicy") == "Always":
            _add(running, container["requests"])
            _add(total, container["requests"])
            moment = dict(running)
        else:
            moment = dict(running)
            _add(moment, container["requests"])
        _raise(peak, moment)
    _raise(total, peak)
    # Requests of the pod as a whole replace the sum (KEP-2837).
    whole = (needs.get("resources") or {}).get("requests") or {}
    total.update({name: resource_amount(name, value) for name, value in whole.items()})
    _add(total, needs.get("overhead") or {})
    return total


def _add(total: dict[str, int], requests: Mapping[str, Any]) -> None:
    for name, value in requests.items():
        amount = value if isinstance(value, int) else resource_amount(name, value)
        total[name] = total.get(name, 0) + amount


def _raise(total: dict[str, int], least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)


def _weight(requests: Resources, containers: Iterable[JsonObject], name: str, default: int) -> int:
    silent = sum(1 for container in containers if name not in container["requests"])
    return requests.get(name, 0) + silent * default


def _host_ports(containers: Iterable[JsonObject]) -> Iterable[Port]:
    for container in containers:
        for port in container["ports"]:
            yield port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"]
