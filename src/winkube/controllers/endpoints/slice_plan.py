"""Which EndpointSlices a service should have, changing as few of those it has as possible."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from winkube.api.meta import (
    annotations_of,
    is_controlled_by,
    labels_of,
    name_of,
    namespace_of,
    to_owner_reference,
    uid_of,
)
from winkube.base.ids import SUFFIX_ALPHABET
from winkube.base.types import JsonObject
from winkube.controllers.endpoints.backend import (
    HEADLESS,
    Backend,
    Ports,
    hostname,
    is_headless,
    target_ref,
    to_ports,
)
from winkube.controllers.endpoints.order import slice_order
from winkube.controllers.pods import node_of

SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
MANAGER: Final = "endpointslice-controller.k8s.io"
MAX_ENDPOINTS: Final = 100
_SAME_NODE: Final = "PreferSameNode"
_CLOSE: Final = ("PreferClose", "PreferSameZone", _SAME_NODE)
_TOPOLOGY_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_TOPOLOGY_MODE: Final = "service.kubernetes.io/topology-mode"


@dataclass(frozen=True, slots=True)
class SlicePlan:
    create: tuple[JsonObject, ...] = ()
    update: tuple[JsonObject, ...] = ()
    delete: tuple[JsonObject, ...] = ()


def to_endpoint(service: JsonObject, backend: Backend, zones: Mapping[str, str]) -> JsonObject:
    endpoint: JsonObject = {
        "addresses": [backend.address],
        "conditions": {
            "ready": backend.ready,
            "serving": backend.serving,
            "terminating": backend.terminating,
        },
        "targetRef": target_ref(backend.pod),
    }
    node = node_of(backend.pod)
    optional = {
        "nodeName": node,
        "zone": zones.get(node, ""),
        "hostname": hostname(service, backend.pod),
    }
    endpoint |= {key: value for key, value in optional.items() if value}
    hints = _hints(service, endpoint) if backend.ready else {}
    return endpoint | ({"hints": hints} if hints else {})


def _hints(service: JsonObject, endpoint: JsonObject) -> JsonObject:
    """For whom the endpoint is meant first (upstream: endpointslice/trafficdist)."""
    wanted = service["spec"].get("trafficDistribution")
    notes = annotations_of(service)
    # Who asks for the older way too gets that one alone, and we do not have it.
    older = notes.get(_TOPOLOGY_HINTS, notes.get(_TOPOLOGY_MODE))
    if wanted not in _CLOSE or older in ("Auto", "auto"):
        return {}
    hints: JsonObject = {}
    if endpoint.get("zone"):
        hints["forZones"] = [{"name": endpoint["zone"]}]
    if endpoint.get("nodeName") and wanted == _SAME_NODE:
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    return hints


def plan_slices(
    service: JsonObject,
    family: str,
    found: Sequence[Backend],
    existing: Iterable[JsonObject],
    zones: Mapping[str, str],
) -> SlicePlan:
    groups: dict[Ports, dict[str, JsonObject]] = defaultdict(dict)
    for backend in found:
        endpoint = to_endpoint(service, backend, zones)
        groups[slice_order(backend.ports)][_identity(endpoint)] = endpoint
    have: dict[str, list[JsonObject]] = defaultdict(list)
    for slice_ in existing:
        have[_ports_key(slice_.get("ports"))].append(slice_)
    if not groups and not any(have.values()):
        # A service without pods still has a slice, empty: clients can tell it is served.
        groups[()] = {}
    taken = {name_of(slice_) for slices in have.values() for slice_ in slices}
    plan = _Plan(service, family, taken)
    for ports, wanted in groups.items():
        plan.fill(ports, wanted, have.pop(_ports_key(to_ports(ports)), []))
    leftovers = [slice_ for slices in have.values() for slice_ in slices]
    if not groups and leftovers:
        keep = min(leftovers, key=name_of)
        plan.put(keep, [], [])
        leftovers.remove(keep)
    plan.delete += leftovers
    plan.recycle()
    return SlicePlan(tuple(plan.create), tuple(plan.update), tuple(plan.delete))


class _Plan:
    def __init__(self, service: JsonObject, family: str, taken: set[str]) -> None:
        self._service = service
        self._family = family
        self._taken = taken
        self.create: list[JsonObject] = []
        self.update: list[JsonObject] = []
        self.delete: list[JsonObject] = []

    def fill(self, ports: Ports, wanted: dict[str, JsonObject], existing: list[JsonObject]) -> None:
        """Keep endpoints where they are, put new ones where there is room, then make slices."""
        missing = dict(wanted)
        kept: list[tuple[JsonObject, list[JsonObject]]] = []
        for slice_ in sorted(existing, key=name_of):
            identities = [_identity(each) for each in slice_.get("endpoints") or ()]
            kept.append((slice_, [missing.pop(each) for each in identities if each in missing]))
        rest = list(missing.values())
        for _, endpoints in kept:
            room = MAX_ENDPOINTS - len(endpoints)
            endpoints += rest[:room]
            del rest[:room]
        empty_is_fine = not wanted
        for slice_, endpoints in kept:
            if endpoints or empty_is_fine:
                self.put(slice_, endpoints, to_ports(ports))
                empty_is_fine = False
            else:
                self.delete.append(slice_)
        while rest or (not wanted and not kept):
            self._new(ports, rest[:MAX_ENDPOINTS])
            del rest[:MAX_ENDPOINTS]
            if not wanted:
                break

    def recycle(self) -> None:
        """Fill slices that would go instead of making new ones: clients keep what they follow."""
        for slice_ in [each for each in self.delete if is_controlled_by(each, self._service)]:
            if not self.create:
                return
            made = self.create.pop()
            self.delete.remove(slice_)
            self.put(slice_, made["endpoints"], made["ports"])

    def put(self, slice_: JsonObject, endpoints: list[JsonObject], ports: list[JsonObject]) -> None:
        metadata = {**slice_["metadata"], "labels": self._labels()}
        fresh = {**slice_, "metadata": metadata, "endpoints": endpoints, "ports": ports}
        before = {**slice_, "endpoints": slice_.get("endpoints") or [],
                  "ports": slice_.get("ports") or []}  # fmt: skip
        if fresh != before:
            self.update.append(fresh)

    def _new(self, ports: Ports, endpoints: list[JsonObject]) -> None:
        name = self._free_name(ports)
        self._taken.add(name)
        owner = to_owner_reference({"apiVersion": "v1", "kind": "Service", **self._service})
        self.create.append(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "name": name,
                    "generateName": f"{name_of(self._service)}-",
                    "namespace": namespace_of(self._service),
                    "labels": self._labels(),
                    "ownerReferences": [owner],
                },
                "addressType": self._family,
                "endpoints": endpoints,
                "ports": to_ports(ports),
            }
        )

    def _free_name(self, ports: Ports) -> str:
        """The same plan makes the same names, so a cache that is behind cannot make twins."""
        number = 0
        while True:
            seed = f"{uid_of(self._service)} {self._family} {ports} {number}".encode()
            digest = hashlib.sha256(seed).digest()
            suffix = "".join(SUFFIX_ALPHABET[byte % len(SUFFIX_ALPHABET)] for byte in digest[:5])
            name = f"{name_of(self._service)}-{suffix}"
            if name not in self._taken:
                return name
            number += 1

    def _labels(self) -> dict[str, str]:
        own = {SERVICE_NAME: name_of(self._service), MANAGED_BY: MANAGER}
        if is_headless(self._service):
            own[HEADLESS] = ""
        return {**labels_of(self._service), **own}


def _identity(endpoint: JsonObject) -> str:
    reference = endpoint.get("targetRef") or {}
    return f"{reference.get('uid') or reference.get('name')} {endpoint['addresses'][0]}"


def _ports_key(ports: Any) -> str:
    """Ports in any order are the same group."""
    return "|".join(
        sorted(orjson.dumps(port, option=orjson.OPT_SORT_KEYS).decode() for port in ports or ())
    )
