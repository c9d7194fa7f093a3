"""Where a pod goes, or why it cannot go anywhere.

Most pods take the fast path. Pods with spreading constraints or pod affinity, pods with volumes,
and pods that running pods have an opinion about, need a look at every node that would take a plain
pod of their needs: still without walking pods.
"""

import dataclasses
import random
from collections.abc import Iterable
from typing import Final

from winkube.api.selector.labels import LabelSelector
from winkube.scheduler.candidates import FEW_NODES, CandidateCache, TieBreak
from winkube.scheduler.cycle import Cycle
from winkube.scheduler.diagnosis import Diagnosis
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import Plugin, Refusal
from winkube.scheduler.plugins.topology_spread import PodTopologySpread
from winkube.scheduler.profile import Profile
from winkube.scheduler.shape import PodInfo, Shape
from winkube.scheduler.terms import REQUIRED
from winkube.scheduler.world import World

REMEMBERED: Final = 256


class Decider:
    def __init__(
        self,
        profile: Profile,
        world: World,
        *,
        few: int = FEW_NODES,
        tie_break: TieBreak = random.random,
    ) -> None:
        self._profile = profile
        self._world = world
        self._tie_break = tie_break
        self._plain = [plugin for plugin in profile.filters if not plugin.relational]
        self._classes = CandidateCache(profile, world, few=few, tie_break=tie_break)
        self._diagnoses: dict[Shape, tuple[int, Diagnosis]] = {}
        spreads = [
            (plugin, weight)
            for plugin, weight in profile.scorers
            if isinstance(plugin, PodTopologySpread)
        ]
        self._spread_weight = spreads[0][1] if spreads else 0
        # A list of constraints of one's own is looked at in full for every pod.
        self._own_defaults = any(
            not plugin.system_defaulted
            for plugin in (*profile.filters, *(each for each, _ in spreads))
            if isinstance(plugin, PodTopologySpread)
        )
        self._related = [each for each in profile.scorers if each[0].relational]

    def cycle(self, pod: PodInfo) -> Cycle:
        return Cycle(pod, self._world, self._profile.filters)

    # -- choosing

    def choose(self, pod: PodInfo) -> str | None:
        simple = self._is_simple(pod)
        promised = self._world.nodes.get(self._world.nomination_of(pod.uid))
        if promised is not None and self._fits(pod, promised):
            return promised.name
        if pod.shape.node_affinity.get(REQUIRED) or not simple:
            cycle = self.cycle(pod)
            if self._refuse(cycle) is not None:
                return None
            only = self._only(cycle)
            if only is not None:
                return self.best_of(cycle, self._fitting(cycle, only))
            if not simple:
                return self._scan(cycle)
        group = self._group(pod)
        return self._classes.of(pod, group, self._plain_cycle).best(pod, group, self._spread_weight)

    def _fits(self, pod: PodInfo, node: NodeInfo) -> bool:
        cycle = self.cycle(pod)
        return self._refuse(cycle) is None and cycle.check(node) is None

    def _is_simple(self, pod: PodInfo) -> bool:
        world = self._world
        if not pod.simple or (self._own_defaults and world.spreading.selector(pod) is not None):
            return False
        if not world.terms:
            return True
        labels_of = world.labels_of_namespace
        return not world.terms.against(pod, labels_of) and not world.terms.about(pod, labels_of)

    def _group(self, pod: PodInfo) -> LabelSelector | None:
        return self._world.spreading.selector(pod) if self._spread_weight else None

    def _plain_cycle(self, pod: PodInfo) -> Cycle:
        """A pod of the same needs that is nobody in particular."""
        nobody = dataclasses.replace(pod, uid="", node="", claims=())
        return Cycle(nobody, self._world, self._plain)

    def _refuse(self, cycle: Cycle) -> tuple[Plugin, Refusal] | None:
        for plugin in self._profile.filters:
            refusal = plugin.refuse(cycle)
            if refusal is not None:
                return plugin, refusal
        return None

    def _only(self, cycle: Cycle) -> list[NodeInfo] | None:
        """The nodes the rules name as the only ones, if they do."""
        named = [only for p in self._profile.filters if (only := p.only(cycle)) is not None]
        if not named:
            return None
        nodes = self._world.nodes
        return [nodes[name] for name in sorted(frozenset.intersection(*named)) if name in nodes]

    def _fitting(self, cycle: Cycle, nodes: Iterable[NodeInfo]) -> list[NodeInfo]:
        return [node for node in nodes if cycle.check(node) is None]

    def _scan(self, cycle: Cycle) -> str | None:
        """Ask the rules that look further about the nodes that pass all the others."""
        plain = self._classes.of(cycle.pod, None, self._plain_cycle)
        plain.catch_up()
        further = [plugin for plugin in cycle.filters if plugin.relational]
        nodes = self._world.nodes
        fitting = [
            node for name in plain.seats if cycle.check(node := nodes[name], further) is None
        ]
        return self.best_of(cycle, fitting, plain.scores(fitting))

    def best_of(
        self, cycle: Cycle, nodes: list[NodeInfo], plain: list[int] | None = None
    ) -> str | None:
        """The best of the nodes that fit; ``plain`` are the scores of the plain rules if known."""
        if len(nodes) <= 1:
            return nodes[0].name if nodes else None
        totals = plain or [0] * len(nodes)
        scorers = self._related if plain is not None else self._profile.scorers
        for plugin, weight in scorers:
            if plugin.begin_scores(cycle, nodes):
                raw = [plugin.score(cycle, node) for node in nodes]
                scaled = plugin.normalize(cycle, nodes, raw)
                totals = [t + weight * each for t, each in zip(totals, scaled, strict=True)]
        ranked = (
            (-total, self._tie_break(), node.name)
            for total, node in zip(totals, nodes, strict=True)
        )
        return min(ranked)[2]

    # -- explaining

    def diagnose(self, pod: PodInfo) -> Diagnosis:
        """Ask every node; pods alike share the answer while nothing changes."""
        simple = self._is_simple(pod) and not self._world.nomination_of(pod.uid)
        kept = self._diagnoses.get(pod.shape)
        if simple and kept is not None and kept[0] == self._world.version:
            return kept[1]
        found = self._diagnose(self.cycle(pod))
        if simple:
            if len(self._diagnoses) > REMEMBERED:
                self._diagnoses.clear()
            self._diagnoses[pod.shape] = (self._world.version, found)
        return found

    def _diagnose(self, cycle: Cycle) -> Diagnosis:
        nodes = self._world.nodes
        refused = self._refuse(cycle)
        if refused is not None:
            return Diagnosis(len(nodes), whole=refused[1], plugins=frozenset((refused[0].name,)))
        only, others = self._only(cycle), None
        plugins: set[str] = set()
        if only is not None:
            plugins = {p.name for p in self._profile.filters if p.only(cycle) is not None}
            said = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"
            others = Refusal((said,), resolvable=False)
        refusals: dict[str, Refusal] = {}
        for node in nodes.values() if only is None else only:
            found = cycle.check(node)
            if found is not None:
                refusals[node.name] = found[1]
                plugins.add(found[0].name)
        return Diagnosis(len(nodes), refusals, others, plugins=frozenset(plugins))
