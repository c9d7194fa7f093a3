"""Where a pod goes, or why it cannot go anywhere.

Most pods take the fast path. Pods with spreading constraints or pod affinity, and pods that running
pods keep at a distance, need a look at every node: still without walking pods.
"""

from collections import Counter
from dataclasses import dataclass, field

from winkube.scheduler.candidates import FEW_NODES, CandidateCache, Weighted
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World


@dataclass(frozen=True, slots=True)
class Diagnosis:
    nodes: int
    reasons: Counter[str] = field(default_factory=Counter)
    # Nodes where removing other pods could not help.
    hopeless: int = 0
    # Why no node was even asked.
    whole: str = ""

    def message(self) -> str:
        """The sentence of a FailedScheduling event (kubernetes: framework/types.go FitError)."""
        if not self.nodes:
            return "no nodes available to schedule pods"
        counted = sorted(f"{count} {reason}" for reason, count in self.reasons.items())
        why = self.whole or ", ".join(counted)
        head = f"0/{self.nodes} nodes are available"
        return f"{head}: {why}. preemption: {head}: {self._preemption()}."

    def _preemption(self) -> str:
        parts = {
            "Preemption is not helpful for scheduling": self.hopeless,
            "No preemption victims found for incoming pod": self.nodes - self.hopeless,
        }
        return ", ".join(sorted(f"{count} {text}" for text, count in parts.items() if count))


class Decider:
    def __init__(self, world: World, plugins: Weighted, *, few: int = FEW_NODES) -> None:
        self._world = world
        self._plugins = plugins
        self._classes = CandidateCache(world, plugins, few=few)
        self._diagnoses: dict[bytes, tuple[int, Diagnosis]] = {}

    def choose(self, pod: PodInfo) -> str | None:
        if pod.simple and not self._world.is_shunned(pod):
            return self._classes.of(pod).best(pod.owner)
        return None if self._refusal_of_all(pod) else self._scan(pod)

    def _refusal_of_all(self, pod: PodInfo) -> str:
        said = (plugin.refuse(pod, self._world) for plugin, _ in self._plugins)
        return next((reason for reason in said if reason), "")

    def _scan(self, pod: PodInfo) -> str | None:
        best: tuple[float, str] | None = None
        for node in self._world.nodes.values():
            if any(plugin.filter(pod, node, self._world) for plugin, _ in self._plugins):
                continue
            score = sum(
                weight * plugin.score(pod, node, self._world)
                for plugin, weight in self._plugins
                if weight
            )
            if best is None or (-score, node.name) < best:
                best = (-score, node.name)
        return None if best is None else best[1]

    def diagnose(self, pod: PodInfo) -> Diagnosis:
        """Ask every node; pods alike share the answer while nothing changes."""
        simple = pod.simple and not self._world.anti_terms
        kept = self._diagnoses.get(pod.shape.signature)
        if simple and kept is not None and kept[0] == self._world.version:
            return kept[1]
        count = len(self._world.nodes)
        whole = "" if simple else self._refusal_of_all(pod)
        if whole:
            return Diagnosis(count, hopeless=count, whole=whole)
        found = Diagnosis(count)
        hopeless = 0
        for node in self._world.nodes.values():
            reasons, resolvable = self._refusal(pod, node)
            found.reasons.update(reasons)
            hopeless += not resolvable
        found = Diagnosis(found.nodes, found.reasons, hopeless)
        if simple:
            if len(self._diagnoses) > 256:
                self._diagnoses.clear()
            self._diagnoses[pod.shape.signature] = (self._world.version, found)
        return found

    def _refusal(self, pod: PodInfo, node: NodeInfo) -> tuple[tuple[str, ...], bool]:
        for plugin, _ in self._plugins:
            reasons = plugin.filter(pod, node, self._world)
            if reasons:
                return reasons, plugin.resolvable
        return (), True
