"""What the scheduler knows of a pod, parsed once.

Pods made from one template share their scheduling needs. Those are a ``Shape``, parsed once and
looked up by the text of the fields it comes from; a ``PodInfo`` adds what differs from pod to pod.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from winkube.api.meta import controller_of, get_condition, key_of, labels_of, namespace_of, uid_of
from winkube.api.selector.nodes import Tolerations
from winkube.api.volumes import ephemeral_claim_key
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject
from winkube.facts.images import base_images
from winkube.scheduler.node_terms import (
    NO_NODE_TERMS,
    NodeTerms,
    preferred_terms,
    required_terms,
)
from winkube.scheduler.resources import (
    Resources,
    container_needs,
    is_counted,
    pod_requests,
    weighed_requests,
)
from winkube.scheduler.terms import NO_TERMS, Terms, parse_terms

REMEMBERED: Final = 2048
DEFAULT_SCHEDULER: Final = "default-scheduler"

Port = tuple[str, str, int]
Owner = tuple[str, str, str]

_OWN_IMAGES: Final = "winkube.local/"  # built in, for Linux

_SPEC_FIELDS: Final = (
    "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints",
    "overhead", "resources", "priority", "preemptionPolicy",
)  # fmt: skip
_LISTS: Final = ("tolerations", "topologySpreadConstraints")


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    signature: bytes
    requests: Resources
    weight_cpu: int
    weight_memory: int
    ports: tuple[Port, ...]
    node_selector: Mapping[str, str]
    node_affinity: JsonObject
    affinity: JsonObject
    tolerated: Tolerations
    spread: tuple[JsonObject, ...]
    priority: int
    preempts: bool
    images: tuple[str, ...]
    image_system: str = ""
    wanted_nodes: NodeTerms | None = None
    liked_nodes: NodeTerms = NO_NODE_TERMS
    # About how many things it says about nodes and other pods, and one more.
    demands: int = 1

    @property
    def simple(self) -> bool:
        """Other pods have no say in where this one may go, beyond taking up room."""
        return (
            not self.spread
            and not self.affinity.get("podAffinity")
            and not self.affinity.get("podAntiAffinity")
        )


@dataclass(slots=True, eq=False)
class PodInfo:
    key: str
    uid: str
    namespace: str
    labels: Mapping[str, str]
    shape: Shape
    node: str = ""
    # Keys of the persistent volume claims it names.
    claims: tuple[str, ...] = ()
    # Those of them that are made for its ephemeral volumes.
    own_claims: tuple[str, ...] = ()
    terms: Terms = NO_TERMS
    # API version, kind and name of its controller.
    controller: Owner | None = None
    scheduler: str = DEFAULT_SCHEDULER
    nominated: str = ""
    start: float | None = None
    terminating: bool = False
    # It is going away because of a more important pod.
    preempted: bool = False
    generation: int = 0
    version: str = ""

    @property
    def simple(self) -> bool:
        """Neither other pods nor volumes have a say in where this one may go."""
        return self.shape.simple and not self.claims

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    @property
    def priority(self) -> int:
        return self.shape.priority


class ShapeCache:
    def __init__(self) -> None:
        self._shapes: OrderedDict[bytes, Shape] = OrderedDict()
        self._terms: dict[tuple[Shape, str], Terms] = {}

    def pod(self, obj: JsonObject) -> PodInfo:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        owner = controller_of(obj)
        shape = self.shape(spec, status)
        metadata = obj["metadata"]
        found = PodInfo(
            key=key_of(obj),
            uid=uid_of(obj),
            namespace=namespace_of(obj),
            labels=labels_of(obj),
            shape=shape,
            node=spec.get("nodeName") or "",
            claims=tuple(_claims(obj)),
            own_claims=tuple(_own_claims(obj)),
            terms=self._terms_of(shape, namespace_of(obj)),
            controller=None if owner is None else _owner(owner),
            scheduler=spec.get("schedulerName") or DEFAULT_SCHEDULER,
            nominated=status.get("nominatedNodeName") or "",
            generation=int(metadata.get("generation") or 0),
            version=metadata.get("resourceVersion") or "",
        )
        if status.get("startTime"):
            found.start = parse_rfc3339(status["startTime"])
        if metadata.get("deletionTimestamp"):
            found.terminating = True
            found.preempted = _is_preempted(obj)
        return found

    def _terms_of(self, shape: Shape, namespace: str) -> Terms:
        if not shape.affinity:
            return NO_TERMS
        found = self._terms.get((shape, namespace))
        if found is None:
            if len(self._terms) > REMEMBERED:
                self._terms.clear()
            found = self._terms[(shape, namespace)] = parse_terms(shape.affinity, namespace)
        return found

    def shape(self, spec: JsonObject, status: JsonObject | None = None) -> Shape:
        needs = {name: spec[name] for name in _SPEC_FIELDS if spec.get(name)}
        running = {
            each["name"]: each
            for kind in ("containerStatuses", "initContainerStatuses")
            for each in (status or {}).get(kind) or ()
        }
        for kind in ("containers", "initContainers"):
            needs[kind] = [
                container_needs(each, running.get(each.get("name") or ""))
                for each in spec.get(kind) or ()
            ]
        needs["images"] = list(_images(spec))
        signature = orjson.dumps(needs, option=orjson.OPT_SORT_KEYS)
        found = self._shapes.get(signature)
        if found is None:
            found = self._shapes[signature] = _parse(signature, needs)
            if len(self._shapes) > REMEMBERED:
                self._shapes.popitem(last=False)
        return found


def _owner(reference: JsonObject) -> Owner:
    return reference.get("apiVersion") or "", reference.get("kind") or "", reference["name"]


def _is_preempted(pod: JsonObject) -> bool:
    found = get_condition(pod, "DisruptionTarget") or {}
    return found.get("status") == "True" and found.get("reason") == "PreemptionByScheduler"


def _images(spec: JsonObject) -> Iterable[str]:
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            name = str(container.get("image") or "")
            tagged = name.rfind(":") > name.rfind("/")
            yield name if tagged else f"{name}:latest"


def _image_system(images: Iterable[str]) -> str:
    """The one operating system that the names of the images speak of, if they do."""
    systems = {_system_of(image) for image in images} - {""}
    return systems.pop() if len(systems) == 1 else ""


def _system_of(image: str) -> str:
    if image.removeprefix("docker.io/").startswith(_OWN_IMAGES):
        return "linux"
    folder, _, last = image.partition("@")[0].rpartition("/")
    repository = f"{folder}/{last.partition(':')[0]}"
    known = base_images()
    return "windows" if repository in known or f"docker.io/{repository}" in known else ""


def _claims(pod: JsonObject) -> Iterable[str]:
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield f"{namespace_of(pod)}/{volume['persistentVolumeClaim']['claimName']}"
        elif "ephemeral" in volume:
            yield ephemeral_claim_key(pod, volume)


def _own_claims(pod: JsonObject) -> Iterable[str]:
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if "ephemeral" in volume:
            yield ephemeral_claim_key(pod, volume)


def _parse(signature: bytes, needs: JsonObject) -> Shape:
    affinity = needs.get("affinity") or {}
    requests = pod_requests(needs)
    weight_cpu, weight_memory = weighed_requests(needs, requests)
    images = needs["images"][len(needs["initContainers"]) :]
    sidecars = [each for each in needs["initContainers"] if each["restartPolicy"] == "Always"]
    return Shape(
        signature=signature,
        requests={name: n for name, n in requests.items() if n and is_counted(name)},
        weight_cpu=weight_cpu,
        weight_memory=weight_memory,
        ports=tuple(_host_ports([*sidecars, *needs["containers"]])),
        node_selector=needs.get("nodeSelector") or {},
        node_affinity=affinity.get("nodeAffinity") or {},
        affinity=affinity,
        tolerated=Tolerations(needs.get("tolerations") or ()),
        spread=tuple(needs.get("topologySpreadConstraints") or ()),
        priority=int(needs.get("priority") or 0),
        preempts=needs.get("preemptionPolicy") != "Never",
        images=tuple(needs["images"]),
        wanted_nodes=required_terms(affinity.get("nodeAffinity") or {}),
        liked_nodes=preferred_terms(affinity.get("nodeAffinity") or {}),
        demands=1 + sum(map(_length, (affinity, *map(needs.get, _LISTS)))),
        image_system=_image_system(images),
    )


def _length(value: object) -> int:
    """How many entries the lists of a value have."""
    if isinstance(value, dict):
        return sum(map(_length, value.values()))
    return len(value) if isinstance(value, list) else 0


def _host_ports(containers: Iterable[JsonObject]) -> Iterable[Port]:
    for container in containers:
        for port in container["ports"]:
            yield port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"]
