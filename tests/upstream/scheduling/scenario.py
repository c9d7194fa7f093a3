"""A scenario: a small cluster, and pods that come one after another.

A step is a pod to make, or a change: ``{"delete": name}`` removes a pod at once, ``{"patch": name,
...}`` changes one, ``{"node": object}`` adds a node, ``{"change": name, ...}`` changes one. After
every step everybody waits until nothing moves any more. ``times`` asks so often, to see all the
nodes that are equally good.
"""

from dataclasses import dataclass, field
from typing import Any

Json = Any

LOW, MID, HIGH, TOP = ({"priorityClassName": name} for name in ("low", "mid", "high", "top"))


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    nodes: list[Json]
    steps: list[Json]
    # Objects that are there before.
    before: list[Json] = field(default_factory=list)
    times: int = 1


def labelled(**more: Any) -> Json:
    return {"labels": {"app": "x"}, **more}
