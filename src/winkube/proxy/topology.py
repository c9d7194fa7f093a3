"""Which endpoints are meant for this node, by the hints they carry (upstream: proxy/topology.go).

Hints count only when every ready endpoint has one and one of them names this node, or its zone:
otherwise somebody would get no answer, or too few would get all the work.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from winkube.base.types import JsonObject

ZONE_LABEL = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Place:
    """A node as its proxy sees it; ``heeds_hints`` is False for data planes that know none."""

    node: str
    zone: str = ""
    heeds_hints: bool = False


Hints = tuple[frozenset[str], frozenset[str]]
NO_HINTS: Hints = (frozenset(), frozenset())


def parse_hints(endpoint: JsonObject) -> Hints:
    """The nodes and the zones an endpoint is meant for."""
    hints = endpoint.get("hints") or {}
    if not hints:
        return NO_HINTS
    nodes, zones = (
        frozenset(each["name"] for each in hints.get(field) or ())
        for field in ("forNodes", "forZones")
    )
    return nodes, zones


def plan_near(ready: Iterable[Hints], here: Place) -> tuple[int, str] | None:
    """Which of the two kinds of hints to go by, and what they have to name; None: by none."""
    known = list(ready)
    if not here.heeds_hints or not known:
        return None
    for kind, name in enumerate((here.node, here.zone)):
        if all(hints[kind] for hints in known) and any(name in hints[kind] for hints in known):
            return kind, name
    return None
