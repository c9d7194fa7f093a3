"""What a set does next, given its pods.

Theory of operation: every place in the set has a pod, or one that is planned for it. OrderedReady
walks the places from the lowest and stops at the first that is not as it should be, so one thing
happens at a time; Parallel looks at all of them. When all places are right, pods beyond the last
place go, highest first; and when those are gone, one pod of an old revision is replaced, highest
first, down to the partition. A pod on a node nobody hears from stays where it is: two pods of one
name must never run, so only its own end makes room.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from winkube.api.meta import is_deleting
from winkube.base.types import JsonObject
from winkube.controllers.pods import is_finished, phase_of
from winkube.controllers.statefulset.identity import (
    claims_of,
    identity_matches,
    is_available,
    is_created,
    is_running_and_ready,
    new_pod,
    ordinal_of,
    ordinals_of,
    revision_of,
    storage_matches,
)
from winkube.controllers.statefulset.retention import DELETE, is_stale, policy_of, wanted_owners
from winkube.controllers.statefulset.revision import template_of

# How many missing pods are planned at once.
BURST: Final = 500
FindClaim = Callable[[str], JsonObject | None]


class Act(Enum):
    CREATE = "create"
    DELETE = "delete"
    CLAIM = "claim"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True)
class Step:
    act: Act
    pod: JsonObject


@dataclass(frozen=True, slots=True)
class SetView:
    """One moment of a set: its revisions (by object) and pods, and a look at the claims."""

    stateful_set: JsonObject
    current: JsonObject
    update: JsonObject
    pods: Sequence[JsonObject]
    find_claim: FindClaim
    now: float

    @property
    def parallel(self) -> bool:
        return bool(self.stateful_set["spec"].get("podManagementPolicy") == "Parallel")

    @property
    def partition(self) -> int:
        return int(_rolling(self.stateful_set).get("partition") or 0)

    def is_unavailable(self, pod: JsonObject) -> bool:
        return is_deleting(pod) or not is_available(self.stateful_set, pod, self.now)


@dataclass(frozen=True, slots=True)
class Plan:
    """Done in this order; a failure leaves the rest for the next time."""

    replicas: tuple[JsonObject, ...]
    condemned: tuple[JsonObject, ...]
    steps: list[Step] = field(default_factory=list)
    disown: list[JsonObject] = field(default_factory=list)
    shrink: list[JsonObject] = field(default_factory=list)
    outdated: JsonObject | None = None


def plan_set(view: SetView) -> Plan:
    places = ordinals_of(view.stateful_set)
    here = {ordinal_of(pod): pod for pod in view.pods}
    replicas = tuple(_places(view, places, here))
    beyond = [pod for number, pod in here.items() if number >= 0 and number not in places]
    condemned = tuple(sorted(beyond, key=ordinal_of, reverse=True))
    plan = Plan(replicas, condemned)
    if is_deleting(view.stateful_set):
        return plan
    if not _fill(view, plan):
        return plan
    plan.disown.extend(pod for pod in condemned if not _retention_matches(view, pod))
    if not _shrink(view, plan):
        return plan
    return Plan(
        replicas, condemned, plan.steps, plan.disown, plan.shrink, _find_outdated(view, replicas)
    )


def _places(view: SetView, places: range, here: dict[int, JsonObject]) -> Iterator[JsonObject]:
    """The pods of the set in order, the next missing ones among them.

    A set may ask for more pods than anybody can count: only what can be made now is planned.
    """
    missing = 0
    number = places.start
    for number in places:
        if number not in here:
            missing += 1
            if missing > BURST:
                break
        yield here.get(number) or _versioned(view, number)
    else:
        return
    yield from (here[each] for each in sorted(here) if each in places and each > number)


def _fill(view: SetView, plan: Plan) -> bool:
    """Plan for every place; say whether to go on to the pods beyond."""
    for pod in plan.replicas:
        steps, done = _place(view, pod)
        plan.steps.extend(steps)
        if not done and not view.parallel:
            return False
    return True


def _place(view: SetView, pod: JsonObject) -> tuple[list[Step], bool]:
    """The steps for one place, and whether it is as it should be."""
    if is_finished(pod):
        return ([] if is_deleting(pod) else [Step(Act.DELETE, pod)]), False
    if not is_created(pod):
        return ([] if _waits_for_claims(view, pod) else [Step(Act.CREATE, pod)]), False
    steps = []
    if phase_of(pod) == "Pending":
        steps.append(Step(Act.CLAIM, pod))
    healthy = is_running_and_ready(pod) and not view.is_unavailable(pod)
    if not healthy and not view.parallel:
        return steps, False
    if not _is_right(view, pod):
        steps.append(Step(Act.REPAIR, pod))
    return steps, True


def _waits_for_claims(view: SetView, pod: JsonObject) -> bool:
    """A claim of the pod that had this place before is still going."""
    if policy_of(view.stateful_set)[1] != DELETE:
        return False
    claims = claims_of(view.stateful_set, ordinal_of(pod)).values()
    found = [view.find_claim(claim["metadata"]["name"]) for claim in claims]
    return any(claim is not None and is_stale(claim, pod) for claim in found)


def _is_right(view: SetView, pod: JsonObject) -> bool:
    return (
        identity_matches(view.stateful_set, pod)
        and storage_matches(view.stateful_set, pod)
        and _retention_matches(view, pod)
    )


def _retention_matches(view: SetView, pod: JsonObject) -> bool:
    claims = claims_of(view.stateful_set, ordinal_of(pod)).values()
    found = [view.find_claim(claim["metadata"]["name"]) for claim in claims]
    return all(
        claim is None or wanted_owners(claim, view.stateful_set, pod) is None for claim in found
    )


def _shrink(view: SetView, plan: Plan) -> bool:
    """Plan the pods beyond the last place; say whether to go on to the rollout."""
    if view.parallel:
        plan.shrink.extend(pod for pod in plan.condemned if not is_deleting(pod))
        return True
    if not plan.condemned:
        return True
    candidate = plan.condemned[0]
    if not is_deleting(candidate) and _may_go(view, plan, candidate):
        plan.shrink.append(candidate)
    return False


def _may_go(view: SetView, plan: Plan, pod: JsonObject) -> bool:
    """Only the first sick pod may go while it is sick: the others wait for it."""
    ordered = (*plan.replicas, *reversed(plan.condemned))
    first = next((each for each in ordered if view.is_unavailable(each)), None)
    healthy = is_running_and_ready(pod) and not view.is_unavailable(pod)
    return healthy or pod is first


def _find_outdated(view: SetView, replicas: Sequence[JsonObject]) -> JsonObject | None:
    """The next pod to replace with one of the new revision."""
    strategy = view.stateful_set["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return None
    wanted = view.update["metadata"]["name"]
    for pod in reversed(replicas[view.partition :]):
        if revision_of(pod) != wanted and not is_deleting(pod):
            return pod
        if view.is_unavailable(pod):
            return None
    return None


def _versioned(view: SetView, number: int) -> JsonObject:
    """A new pod for this place: of the old revision below the partition."""
    spec = view.stateful_set["spec"]
    first = number - ordinals_of(view.stateful_set).start
    strategy = spec.get("updateStrategy") or {}
    old = first < view.partition
    if strategy.get("type", "RollingUpdate") == "RollingUpdate" and not _has_rolling(strategy):
        old = first < int((view.stateful_set.get("status") or {}).get("currentReplicas") or 0)
    revision = view.current if old else view.update
    name = revision["metadata"]["name"]
    return new_pod(view.stateful_set, template_of(revision), name, number)


def _has_rolling(strategy: JsonObject) -> bool:
    return strategy.get("rollingUpdate") is not None


def _rolling(stateful_set: JsonObject) -> JsonObject:
    found: JsonObject = (stateful_set["spec"].get("updateStrategy") or {}).get(
        "rollingUpdate"
    ) or {}
    return found
