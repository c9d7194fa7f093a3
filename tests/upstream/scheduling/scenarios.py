"""All scenarios."""

from tests.upstream.scheduling.neighbours import EVENTS, RELATIONS, SPREADING
from tests.upstream.scheduling.placement import PLACEMENT
from tests.upstream.scheduling.preemption import PREEMPTION, VOLUMES
from tests.upstream.scheduling.profiles import PROFILES
from tests.upstream.scheduling.scenario import Scenario

SCENARIOS: list[Scenario] = [
    *PLACEMENT,
    *EVENTS,
    *SPREADING,
    *RELATIONS,
    *PREEMPTION,
    *VOLUMES,
    *PROFILES,
]
