"""A pod goes where its volumes are, or where they can be made."""

from typing import Final

from winkube.scheduler.cycle import Cycle
from winkube.scheduler.events import ClusterEvent
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import Plugin, Refusal
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World

IN_USE: Final = Refusal(
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod",
    )
)
OTHER_ZONE: Final = Refusal(("node(s) had no available volume zone",), resolvable=False)


class VolumeBinding(Plugin):
    name = "VolumeBinding"
    relational = True
    filters = True

    def refuse(self, cycle: Cycle) -> Refusal | None:
        pod = cycle.pod
        said = cycle.world.volumes.refuse(pod) if pod.claims else ""
        return Refusal((said,), resolvable=False) if said else None

    def begin(self, cycle: Cycle) -> bool:
        return bool(cycle.pod.claims)

    def filter(self, cycle: Cycle, node: NodeInfo) -> Refusal | None:
        found = cycle.world.volumes.choose(cycle.pod.claims, (node.name, node.labels))
        return Refusal(found.refusals, resolvable=False) if found.refusals else None

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        return bool(event.others or event.node)


class _Claimed:
    """How many others use a claim that only one pod may use."""

    def __init__(self, keys: frozenset[str], used: int) -> None:
        self._keys = keys
        self.used = used

    def shift(self, pod: PodInfo, node: NodeInfo, sign: int) -> None:
        self.used += sign * len(self._keys.intersection(pod.claims))


class VolumeRestrictions(Plugin):
    name = "VolumeRestrictions"
    relational = True
    filters = True

    def begin(self, cycle: Cycle) -> bool:
        if not cycle.pod.claims:
            return False
        volumes = cycle.world.volumes
        alone = frozenset(key for key in cycle.pod.claims if volumes.is_for_one_pod(key))
        if alone:
            used = sum(volumes.users(key) for key in alone)
            cycle.states[self.name] = _Claimed(alone, used)
        return bool(alone)

    def filter(self, cycle: Cycle, node: NodeInfo) -> Refusal | None:
        state = cycle.states[self.name]
        return IN_USE if isinstance(state, _Claimed) and state.used > 0 else None

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        if event.is_deletion and event.old_pod is not None:
            return not set(pod.claims).isdisjoint(event.old_pod.claims)
        return bool(event.others or event.node)


class VolumeZone(Plugin):
    name = "VolumeZone"
    relational = True
    filters = True

    def refuse(self, cycle: Cycle) -> Refusal | None:
        gone = cycle.world.volumes.missing(cycle.pod.claims) if cycle.pod.claims else ""
        said = f'persistentvolume "{gone}" not found'
        return Refusal((said,), resolvable=False) if gone else None

    def begin(self, cycle: Cycle) -> bool:
        return bool(cycle.pod.claims)

    def filter(self, cycle: Cycle, node: NodeInfo) -> Refusal | None:
        fits = cycle.world.volumes.in_zone(cycle.pod.claims, node.labels)
        return None if fits else OTHER_ZONE

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        return bool(event.others or event.node)
