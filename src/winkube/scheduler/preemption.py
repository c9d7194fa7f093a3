"""Whom to send away so that a more important pod gets a node (kubernetes: DefaultPreemption).

Only nodes where removing pods can help are tried, and of those no more than a share. On each, all
pods of lower priority are taken off on trial and let back in, the most important first, as long as
the pod still fits; who cannot come back is a victim. The picture is unchanged afterwards.
"""

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from winkube.scheduler.budget import Budget, BudgetCache, Budgets
from winkube.scheduler.cycle import Cycle
from winkube.scheduler.diagnosis import NO_CLAIMS, Diagnosis, sentence
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import Plugin, Refusal
from winkube.scheduler.profile import Profile
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World

NOT_HELPFUL: Final = Refusal(("Preemption is not helpful for scheduling",), resolvable=False)
NO_VICTIMS: Final = Refusal(("No preemption victims found for incoming pod",), resolvable=False)
NEVER: Final = "not eligible due to preemptionPolicy=Never."
STILL_LEAVING: Final = "not eligible due to a terminating pod on the nominated node."
# What upstream says when a pod was refused before any node was looked at.
NO_STATE: Final = "not found"
# Makes every priority positive, so that more victims never look better than fewer.
_OFFSET: Final = 2**31


@dataclass(frozen=True, slots=True)
class Candidate:
    node: str
    victims: tuple[PodInfo, ...]
    violations: int

    def rank(self) -> tuple[float, ...]:
        """Smaller is better."""
        top = self.victims[0].priority
        starts = (_start(pod) for pod in self.victims if pod.priority == top)
        return (
            self.violations,
            top,
            sum(pod.priority + _OFFSET for pod in self.victims),
            len(self.victims),
            -min(starts),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """``nominate`` is the node to wait for, empty to wait for none, None to leave it as it is."""

    nominate: str | None = None
    victims: tuple[PodInfo, ...] = ()
    message: str = ""


def _start(pod: PodInfo) -> float:
    """A pod that has not started yet is the youngest."""
    return math.inf if pod.start is None else pod.start


def _importance(pod: PodInfo) -> tuple[int, float]:
    return -pod.priority, _start(pod)


class Preemption:
    def __init__(
        self, profile: Profile, world: World, *, pick: Callable[[int], int] = random.randrange
    ) -> None:
        self._profile = profile
        self._world = world
        self._pick = pick
        self._budgets = BudgetCache()
        self._kept: tuple[Diagnosis, Outcome] | None = None

    def run(self, make_cycle: Callable[[], Cycle], pod: PodInfo, why: Diagnosis) -> Outcome:
        """What can be done for a pod that no node takes."""
        if not why.nodes:
            return Outcome(nominate="")
        given_up = self._given_up(pod, why)
        if given_up is not None:
            return Outcome(message=given_up)
        # Pods alike share one diagnosis while nothing changes: no victim is found for the next.
        if self._kept is not None and self._kept[0] is why:
            return self._kept[1]
        names = why.resolvable()
        found, refusals = self._try_nodes(make_cycle(), names) if names else ([], {})
        if found:
            best = min(found, key=Candidate.rank)
            return Outcome(best.node, best.victims)
        outcome = self._nothing(why, refusals)
        self._kept = (why, outcome)
        return outcome

    def _given_up(self, pod: PodInfo, why: Diagnosis) -> str | None:
        """What there is to say when nothing is tried; None when something is."""
        checked = self._profile.claims_are_checked
        if why.whole is not None and checked:
            return NO_STATE
        if not self._profile.preempts:
            return NO_CLAIMS if checked else ""
        refused = self._ineligible(pod, why)
        return self._say(refused) if refused else None

    def _say(self, message: str) -> str:
        said = f"preemption: {message}"
        return f"{NO_CLAIMS}, {said}" if self._profile.claims_are_checked else said

    def _nothing(self, why: Diagnosis, refusals: dict[str, Refusal]) -> Outcome:
        said = sentence(why.nodes, refusals.values(), NOT_HELPFUL)
        return Outcome(nominate="", message=self._say(said))

    def _ineligible(self, pod: PodInfo, why: Diagnosis) -> str:
        if not pod.shape.preempts:
            return NEVER
        name = self._world.nomination_of(pod.uid)
        node = self._world.nodes.get(name)
        refusal = why.refusal_of(name) if name else None
        if node is None or (refusal is not None and not refusal.resolvable):
            return ""
        leaving = (other.preempted for other in node.pods.values() if other.priority < pod.priority)
        return STILL_LEAVING if any(leaving) else ""

    def _try_nodes(
        self, cycle: Cycle, names: list[str]
    ) -> tuple[list[Candidate], dict[str, Refusal]]:
        budgets = self._budgets.now(self._world.budgets())
        # The rules about node objects have passed, and no victim changes that.
        filters = [plugin for plugin in cycle.filters if not plugin.static]
        wanted = self._wanted(len(names))
        start = self._pick(len(names))
        found: list[Candidate] = []
        clean = False
        refusals: dict[str, Refusal] = {}
        for name in (*names[start:], *names[:start]):
            result = _victims_on(cycle, self._world.nodes[name], filters, budgets)
            if isinstance(result, Refusal):
                refusals[name] = result
                continue
            found.append(result)
            clean |= not result.violations
            if clean and len(found) >= wanted:
                break
        return found, refusals

    def _wanted(self, nodes: int) -> int:
        share = nodes * self._profile.candidates_percent // 100
        return min(nodes, max(share, self._profile.candidates_least))


def _victims_on(
    cycle: Cycle, node: NodeInfo, filters: list[Plugin], budgets: Budgets
) -> Candidate | Refusal:
    priority = cycle.pod.priority
    if not node.has_below(priority):
        return NO_VICTIMS
    possible = [pod for pod in node.pods.values() if pod.priority < priority]
    for pod in possible:
        cycle.remove(pod, node)
    found = cycle.check(node, filters)
    if found is not None:
        for pod in possible:
            cycle.add(pod, node)
        return found[1]
    possible.sort(key=_importance)
    violating, others = _by_budget(possible, budgets)
    lost = _let_back(cycle, node, filters, violating)
    violations = len(lost)
    lost += _let_back(cycle, node, filters, others)
    for pod in lost:
        cycle.add(pod, node)
    if not lost:
        return NO_VICTIMS
    return Candidate(node.name, tuple(sorted(lost, key=_importance)), violations)


def _let_back(
    cycle: Cycle, node: NodeInfo, filters: list[Plugin], pods: Iterable[PodInfo]
) -> list[PodInfo]:
    """Put pods back as long as there is room; those who have to stay away."""
    away = []
    for pod in pods:
        cycle.add(pod, node)
        if cycle.check(node, filters) is not None:
            cycle.remove(pod, node)
            away.append(pod)
    return away


def _by_budget(pods: list[PodInfo], budgets: Budgets) -> tuple[list[PodInfo], list[PodInfo]]:
    """Those whose going would violate a budget, and the rest, each in the order given."""
    if not budgets:
        return [], pods
    gone: dict[Budget, int] = {}
    violating: list[PodInfo] = []
    others: list[PodInfo] = []
    most = len(pods)
    for pod in pods:
        violated = False
        for budget in budgets.about(pod):
            # One that lets all of them go needs no count.
            if budget.allowed < most:
                count = gone[budget] = gone.get(budget, 0) + 1
                violated = violated or count > budget.allowed
        (violating if violated else others).append(pod)
    return violating, others
