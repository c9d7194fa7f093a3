"""Why a pod has no node: what each node was refused for, and the sentence users read."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from winkube.scheduler.plugins.plugin import Refusal

NO_NODES: Final = "no nodes available to schedule pods"
NO_CLAIMS: Final = "no new claims to deallocate"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    nodes: int
    refusals: dict[str, Refusal] = field(default_factory=dict)
    # For the nodes that are not named above.
    others: Refusal | None = None
    # Why no node was even asked.
    whole: Refusal | None = None
    # The rules that refused: an event has to help one of them to be worth another try.
    plugins: frozenset[str] = frozenset()

    def message(self, afterword: str = "") -> str:
        """The sentence of a FailedScheduling event; ``afterword`` is about preemption."""
        if not self.nodes:
            return NO_NODES
        if self.whole is not None:
            said = f"0/{self.nodes} nodes are available: {', '.join(self.whole.reasons)}."
        else:
            said = sentence(self.nodes, self.refusals.values(), self.others)
        return f"{said} {afterword}" if afterword else said

    def refusal_of(self, node: str) -> Refusal | None:
        return self.whole or self.refusals.get(node) or self.others

    def resolvable(self) -> list[str]:
        """The nodes where removing pods could help."""
        if self.whole is not None:
            return []
        return [name for name, refusal in self.refusals.items() if refusal.resolvable]


def sentence(nodes: int, refusals: Iterable[Refusal], others: Refusal | None = None) -> str:
    """All reasons with their counts (kubernetes: framework/types.go FitError)."""
    counts: Counter[str] = Counter()
    named = 0
    for refusal in refusals:
        named += 1
        counts.update(refusal.reasons)
    if others is not None and named < nodes:
        for reason in others.reasons:
            counts[reason] += nodes - named
    listed = sorted(f"{count} {reason}" for reason, count in counts.items())
    head = f"0/{nodes} nodes are available:"
    return f"{head} {', '.join(listed)}." if listed else head
