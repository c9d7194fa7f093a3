"""Claims, volumes and classes as the scheduler sees them, and what a pod's claims need on a node.

A volume chosen for a claim is *assumed* taken until the pod is bound or given up, so that two
decisions never choose the same one.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from winkube.api.meta import annotations_of, controller_of, key_of, labels_of, name_of
from winkube.api.quantity import parse_quantity
from winkube.api.volumes import (
    NO_PROVISIONER,
    SELECTED_NODE,
    class_of,
    find_match,
    in_topology,
    is_bound,
    reaches,
    say_foreign,
    waits_for_consumer,
)
from winkube.base.types import JsonObject
from winkube.scheduler.shape import PodInfo

CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NO_MATCH = "node(s) didn't find available persistent volumes to bind"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

# Labels that say where a volume is, each with its present name.
PLACES = {
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}

Place = tuple[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class VolumeChoice:
    """What a pod's claims get on one node: existing volumes, or volumes yet to be made."""

    refusals: tuple[str, ...] = ()
    bind: tuple[tuple[JsonObject, JsonObject], ...] = ()
    provision: tuple[JsonObject, ...] = ()


@dataclass(slots=True)
class Volumes:
    find_claim: Callable[[str], JsonObject | None] = lambda key: None
    find_volume: Callable[[str], JsonObject | None] = lambda name: None
    find_class: Callable[[str], JsonObject | None] = lambda name: None
    candidates: Callable[[JsonObject], list[JsonObject]] = lambda claim: []
    _assumed: dict[str, str] = field(default_factory=dict)
    # How many pods with a node use each claim.
    _users: Counter[str] = field(default_factory=Counter)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def choose(self, claims: tuple[str, ...], place: Place) -> VolumeChoice:
        """What these claims need on this node; the pod's claims all exist (see ``refuse``)."""
        found = [claim for key in claims if (claim := self.find_claim(key)) is not None]
        bound = [claim for claim in found if is_bound(claim)]
        refusals = self._check_bound(bound, place)
        waiting = sorted((claim for claim in found if not is_bound(claim)), key=_wanted)
        bind: list[tuple[JsonObject, JsonObject]] = []
        provision: list[JsonObject] = []
        for claim in waiting:
            volume = self._match(claim, place, {name_of(taken) for _, taken in bind})
            if volume is not None:
                bind.append((claim, volume))
            elif self._is_provisionable(claim, place):
                provision.append(claim)
            else:
                refusals.add(NO_MATCH)
        return VolumeChoice(tuple(sorted(refusals)), tuple(bind), tuple(provision))

    def _check_bound(self, claims: list[JsonObject], place: Place) -> set[str]:
        refusals = set()
        for claim in claims:
            volume = self.find_volume(claim["spec"]["volumeName"])
            if volume is None:
                refusals.add(NO_VOLUME)
            elif not reaches(volume, *place):
                refusals.add(CONFLICT)
        return refusals

    def _match(self, claim: JsonObject, place: Place, taken: set[str]) -> JsonObject | None:
        if SELECTED_NODE in annotations_of(claim):
            # Its volume is being made.
            return None
        assumed = {name for name, key in self._assumed.items() if key != key_of(claim)}
        volumes = self.candidates(claim)
        return find_match(claim, volumes, node=place, excluded=taken | assumed, delayed=True)

    def _is_provisionable(self, claim: JsonObject, place: Place) -> bool:
        selected = annotations_of(claim).get(SELECTED_NODE)
        if selected is not None:
            return selected == place[0]
        found = self.find_class(class_of(claim))
        provisioner = (found or {}).get("provisioner") or NO_PROVISIONER
        return found is not None and provisioner != NO_PROVISIONER and in_topology(found, place[1])

    def refuse(self, pod: PodInfo) -> str:
        """Why its claims keep the pod from every node."""
        for key in pod.claims:
            said = self._refuse_claim(pod, key)
            if said:
                return said
        if any(self._is_unbound_immediate(key) for key in pod.claims):
            return "pod has unbound immediate PersistentVolumeClaims"
        return ""

    def _refuse_claim(self, pod: PodInfo, key: str) -> str:
        named = f'persistentvolumeclaim "{key.partition("/")[2]}"'
        claim = self.find_claim(key)
        if claim is None:
            made = "waiting for ephemeral volume controller to create the "
            return f"{made}{named}" if key in pod.own_claims else f"{named} not found"
        if (claim.get("status") or {}).get("phase") == "Lost":
            missing = claim["spec"].get("volumeName") or ""
            return f'{named} bound to non-existent persistentvolume "{missing}"'
        if claim["metadata"].get("deletionTimestamp"):
            return f"{named} is being deleted"
        if key in pod.own_claims and (controller_of(claim) or {}).get("uid") != pod.uid:
            return say_foreign(key, pod.key)
        return ""

    def _is_unbound_immediate(self, key: str) -> bool:
        claim = self.find_claim(key)
        if claim is None or is_bound(claim):
            return False
        delayed = waits_for_consumer(self.find_class(class_of(claim)))
        return not delayed or bool(claim["spec"].get("volumeName"))

    # -- claims of one pod only, and volumes of a zone

    def count(self, claims: tuple[str, ...], sign: int) -> None:
        for key in claims:
            self._users[key] += sign
            if not self._users[key]:
                del self._users[key]

    def users(self, key: str) -> int:
        return self._users.get(key, 0)

    def is_for_one_pod(self, key: str) -> bool:
        claim = self.find_claim(key)
        return claim is not None and "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ())

    def missing(self, claims: tuple[str, ...]) -> str:
        """The name of a volume that a claim has and that is not there."""
        names = (
            ((self.find_claim(key) or {}).get("spec") or {}).get("volumeName") for key in claims
        )
        return next((name for name in names if name and self.find_volume(name) is None), "")

    def in_zone(self, claims: tuple[str, ...], labels: Mapping[str, str]) -> bool:
        """Say whether the volumes that carry a zone or region are in that of the node."""
        if not any(label in labels for label in PLACES):
            return True
        for key in claims:
            name = ((self.find_claim(key) or {}).get("spec") or {}).get("volumeName") or ""
            volume = self.find_volume(name) if name else None
            wanted = labels_of(volume) if volume is not None else {}
            for label in PLACES:
                # A volume of several zones has them all in one value.
                zones = wanted[label].split("__") if label in wanted else None
                here = labels.get(label, labels.get(PLACES[label]))
                if zones is not None and here not in zones:
                    return False
        return True

    # -- choices under way

    def assume(self, choice: VolumeChoice) -> None:
        for claim, volume in choice.bind:
            self._assumed[name_of(volume)] = key_of(claim)

    def forget(self, choice: VolumeChoice) -> None:
        for _, volume in choice.bind:
            self._assumed.pop(name_of(volume), None)

    def changed(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def next_change(self) -> None:
        await self._changed.wait()


def _wanted(claim: JsonObject) -> Fraction:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return parse_quantity(requests.get("storage") or "0")
