"""What the rules say about one object in one kind of cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from winkube.api.selector.nodes import is_tolerated
from winkube.base.types import JsonObject
from winkube.rules.admission.cluster import Cluster, to_taint, tolerations_in
from winkube.rules.admission.words import to_lines
from winkube.rules.engine import Engine, Ruleset
from winkube.rules.ignore import is_ignored_by_object
from winkube.rules.model import Effect, Enforced, Finding, Rule, Severity
from winkube.rules.subjects import pods_in

# About the taint of Windows nodes: advice where nobody knows the nodes, and a fact here.
_UNTOLERATED: Final = "WIN-SCHED-006"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Lines: what is worth a warning, and of it what will not work on any of the nodes."""

    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


NOTHING_SAID: Final = Verdict()


class Judge:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._rules = Ruleset(cluster.targets)

    def judge(self, document: JsonObject, classes: Mapping[str, JsonObject]) -> Verdict:
        found = self.findings(document, classes)
        if not self.cluster.is_tainted or self._tolerates(document):
            found = [each for each in found if each.rule.id != _UNTOLERATED]
        return self._verdict(found)

    def findings(self, document: JsonObject, classes: Mapping[str, JsonObject]) -> list[Finding]:
        engine: Engine[None] = Engine(self._rules, classes)
        fed = [*engine.feed(document, None), *engine.finish()]
        return [found for _, found in fed if not is_ignored_by_object(found, document)]

    def _verdict(self, findings: list[Finding]) -> Verdict:
        targets = len(self.cluster.targets)
        told = [found for found in findings if _is_told(found.rule)]
        errors = [
            found
            for found in told
            if found.rule.severity is Severity.ERROR and len(found.targets) == targets
        ]
        return Verdict(to_lines(told, targets), to_lines(errors, targets))

    def _tolerates(self, document: JsonObject) -> bool:
        """Whether some Windows node takes it: taints of their own making have other keys."""
        for subject in pods_in(document):
            own = tolerations_in(subject.pod["spec"])
            return any(is_tolerated(own, to_taint(taint)) for taint in self.cluster.taints)
        return True


def _is_told(rule: Rule) -> bool:
    if rule.id == _UNTOLERATED:
        return True
    return rule.severity is not Severity.INFO and not is_refusal(rule)


def is_refusal(rule: Rule) -> bool:
    """Whether the API server itself says no, in its own words."""
    return rule.effect is Effect.REFUSED and rule.enforced is Enforced.API
