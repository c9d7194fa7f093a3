"""What to create and delete for a DaemonSet: placement first, then the rolling update.

Theory of operation: placement keeps one pod on each wanted node (two while an update surges), and
removes failed, finished, surplus and misplaced ones. When nothing of that is under way, the update
picks old pods to delete (``maxUnavailable``) or nodes that get a new pod beside the old one
(``maxSurge``); placement then fills the gaps. Upstream: pkg/controller/daemon.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from winkube.api.meta import is_deleting, key_of, name_of
from winkube.base.types import JsonObject
from winkube.controllers.daemonset.placement import (
    Fit,
    daemon_tolerations,
    fit_pod,
    is_updated,
    target_node,
    template_generation,
)
from winkube.controllers.deployment.view import int_or_percent
from winkube.controllers.note import Note
from winkube.controllers.pods import available_in, is_finished, is_ready, node_of, phase_of

BURST: Final = 250


@dataclass(frozen=True, slots=True)
class DaemonPlan:
    create: tuple[str, ...] = ()
    delete: tuple[JsonObject, ...] = ()
    notes: tuple[Note, ...] = ()
    # Nodes whose failed pod is being replaced: the next failure there waits longer.
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Daemon:
    """A daemon set with its pods and the nodes there are; ``digest`` names its revision."""

    daemon_set: JsonObject
    nodes: Sequence[JsonObject]
    pods: Sequence[JsonObject]
    digest: str
    now: float

    @cached_property
    def by_node(self) -> dict[str, list[JsonObject]]:
        found: dict[str, list[JsonObject]] = {}
        for pod in self.pods:
            if is_finished(pod) and is_deleting(pod):
                continue
            node = target_node(pod)
            if node is not None:
                found.setdefault(node, []).append(pod)
        return found

    @cached_property
    def fits(self) -> dict[str, Fit]:
        spec = self.daemon_set["spec"]["template"].get("spec") or {}
        tolerations = daemon_tolerations(spec)
        return {name_of(node): fit_pod(spec, tolerations, node) for node in self.nodes}

    @cached_property
    def desired(self) -> int:
        return sum(fit.run for fit in self.fits.values())

    @property
    def rolling(self) -> bool:
        return bool((self.daemon_set["spec"].get("updateStrategy") or {}).get("type") != "OnDelete")

    @property
    def max_surge(self) -> int:
        return self._scaled("maxSurge", 0, self.desired)

    @property
    def max_unavailable(self) -> int:
        count = self._scaled("maxUnavailable", 1, self.desired)
        # Neither may be nothing, or an update would never move.
        return count or (1 if self.desired and not self.max_surge else 0)

    @property
    def surges(self) -> bool:
        return self._scaled("maxSurge", 0, 1) > 0

    def _scaled(self, name: str, default: int, whole: int) -> int:
        if not self.rolling:
            return 0
        given = (self.daemon_set["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
        return int_or_percent(given.get(name, default), whole, round_up=True)

    def updated(self, pod: JsonObject) -> bool:
        return is_updated(pod, self.digest, template_generation(self.daemon_set))

    def available(self, pod: JsonObject) -> bool:
        seconds = self.daemon_set["spec"].get("minReadySeconds") or 0
        return available_in(pod, seconds, self.now) == 0.0


def oldest_first(pods: Iterable[JsonObject]) -> list[JsonObject]:
    """Pods that have a node come before those that wait for one."""
    return sorted(
        pods,
        key=lambda pod: (
            not node_of(pod),
            pod["metadata"].get("creationTimestamp") or "",
            name_of(pod),
        ),
    )


def plan_placement(daemon: Daemon, backing_off: frozenset[str] = frozenset()) -> DaemonPlan:
    """One pod on every wanted node; failed pods stay a while on nodes that are ``backing_off``."""
    create: list[str] = []
    delete: list[JsonObject] = []
    notes: list[Note] = []
    failed: list[str] = []
    for node, fit in daemon.fits.items():
        pods = daemon.by_node.get(node) or []
        if fit.run and not pods:
            create.append(node)
        elif fit.stay:
            ended = _ended(pods, node, node in backing_off)
            delete += [pod for pod, _ in ended]
            notes += [note for _, note in ended]
            if any(phase_of(pod) == "Failed" for pod, _ in ended):
                failed.append(node)
            delete += _surplus(daemon, [pod for pod in pods if _runs(pod)])
        else:
            delete += [pod for pod in pods if not is_deleting(pod)]
    # Pods for nodes that are gone are nobody else's to remove while they wait to be scheduled.
    for node, pods in daemon.by_node.items():
        if node not in daemon.fits:
            delete += [pod for pod in pods if not node_of(pod)]
    return DaemonPlan(tuple(create), tuple(delete), tuple(notes), tuple(failed))


def _runs(pod: JsonObject) -> bool:
    return not is_deleting(pod) and not is_finished(pod)


def _ended(pods: Iterable[JsonObject], node: str, waiting: bool) -> list[tuple[JsonObject, Note]]:
    found = []
    for pod in pods:
        if is_deleting(pod):
            continue
        where = f"daemon pod {key_of(pod)} on node {node}, will try to"
        if phase_of(pod) == "Failed" and not waiting:
            message = f"Found failed {where} kill it"
            found.append((pod, Note("Warning", "FailedDaemonPod", message)))
        elif phase_of(pod) == "Succeeded":
            message = f"Found succeeded {where} delete it"
            found.append((pod, Note("Normal", "SucceededDaemonPod", message)))
    return found


def _surplus(daemon: Daemon, running: list[JsonObject]) -> list[JsonObject]:
    ordered = oldest_first(running)
    if not daemon.surges:
        return ordered[1:]
    new = [pod for pod in ordered if daemon.updated(pod)]
    old = [pod for pod in ordered if not daemon.updated(pod)]
    surplus = [*new[1:], *old[1:]]
    if new and old and (not is_ready(old[0]) or daemon.available(new[0])):
        surplus.append(old[0])
    return surplus


@dataclass(slots=True)
class _Census:
    """What the pods on the nodes say about an update under way."""

    unavailable: int = 0
    surging: int = 0
    available: int = 0
    at_once: list[JsonObject] = field(default_factory=list)
    candidates: list[JsonObject] = field(default_factory=list)
    misplaced: list[JsonObject] = field(default_factory=list)
    nodes_at_once: list[str] = field(default_factory=list)
    candidate_nodes: list[str] = field(default_factory=list)


Pair = tuple[JsonObject | None, JsonObject | None]


def _pair(daemon: Daemon, pods: Iterable[JsonObject]) -> Pair | None:
    """The new and the old pod of a node; None when placement has to tidy up first."""
    alive = [pod for pod in pods if not is_deleting(pod)]
    new = [pod for pod in alive if daemon.updated(pod)]
    old = [pod for pod in alive if not daemon.updated(pod)]
    if len(new) > 1 or len(old) > 1:
        return None
    return (new[0] if new else None, old[0] if old else None)


def plan_update(daemon: Daemon) -> DaemonPlan:
    groups = dict(daemon.by_node)
    for node, fit in daemon.fits.items():
        if fit.run:
            groups.setdefault(node, [])
    if daemon.max_surge:
        return _plan_surge(daemon, groups)
    census = _Census()
    limit = daemon.max_unavailable
    for pods in groups.values():
        pair = _pair(daemon, pods)
        if pair is None or (pair[0] is None) == (pair[1] is None):
            census.unavailable += 1
            continue
        new, old = pair
        if new is not None:
            census.unavailable += not daemon.available(new)
        elif old is not None and not daemon.available(old):
            census.at_once.append(old)
            census.unavailable += 1
        elif old is not None and census.unavailable < limit:
            census.candidates.append(old)
    room = max(0, limit - census.unavailable)
    return DaemonPlan(delete=(*census.at_once, *census.candidates[:room]))


def _plan_surge(daemon: Daemon, groups: dict[str, list[JsonObject]]) -> DaemonPlan:
    census = _Census()
    limit = daemon.max_surge
    for node, pods in groups.items():
        pair = _pair(daemon, pods)
        if pair is None:
            census.surging += 1
            continue
        new, old = pair
        shown = old if old is not None else new
        census.available += shown is not None and daemon.available(shown)
        if old is None:
            continue
        if new is None:
            _weigh_surge(daemon, census, node, old)
        elif daemon.available(new):
            census.at_once.append(old)
        else:
            census.surging += 1
    room = max(0, limit - census.surging)
    spare = max(0, census.available - daemon.desired)
    return DaemonPlan(
        create=(*census.nodes_at_once, *census.candidate_nodes[:room]),
        delete=(*census.at_once, *census.misplaced[:spare]),
    )


def _weigh_surge(daemon: Daemon, census: _Census, node: str, old: JsonObject) -> None:
    """An old pod alone on its node: replace it, let it go, or let it wait its turn."""
    wanted = daemon.fits.get(node, Fit(False, False)).run
    if daemon.available(old):
        if not wanted:
            census.misplaced.append(old)
        elif census.surging < daemon.max_surge:
            census.candidate_nodes.append(node)
    elif wanted:
        census.nodes_at_once.append(node)
    else:
        census.at_once.append(old)


def plan_status(daemon: Daemon, *, observed: bool) -> tuple[JsonObject, float | None]:
    """The status, and after how many seconds it may change by time alone."""
    counts = dict.fromkeys(
        ("currentNumberScheduled", "numberMisscheduled", "numberReady", "numberAvailable",
         "updatedNumberScheduled"), 0
    )  # fmt: skip
    for node, fit in daemon.fits.items():
        pods = daemon.by_node.get(node)
        if not pods:
            continue
        if not fit.run:
            counts["numberMisscheduled"] += 1
            continue
        first = oldest_first(pods)[0]
        counts["currentNumberScheduled"] += 1
        counts["numberReady"] += is_ready(first)
        counts["numberAvailable"] += daemon.available(first)
        counts["updatedNumberScheduled"] += daemon.updated(first)
    old = daemon.daemon_set.get("status") or {}
    generation = daemon.daemon_set["metadata"].get("generation", 0)
    status = {
        **counts,
        "desiredNumberScheduled": daemon.desired,
        "numberUnavailable": daemon.desired - counts["numberAvailable"],
        "observedGeneration": generation if observed else old.get("observedGeneration", 0),
    }
    optional = ("numberAvailable", "updatedNumberScheduled", "numberUnavailable",
                "observedGeneration")  # fmt: skip
    shown = {key: value for key, value in status.items() if value or key not in optional}
    kept = {key: old[key] for key in ("collisionCount", "conditions") if key in old}
    return {**shown, **kept}, _soonest_available(daemon)


def _soonest_available(daemon: Daemon) -> float | None:
    """Also of pods that the status does not count: an update waits for those beside old ones."""
    seconds = daemon.daemon_set["spec"].get("minReadySeconds") or 0
    waits = (available_in(pod, seconds, daemon.now) for pod in daemon.pods) if seconds else ()
    return min((wait for wait in waits if wait), default=None)
