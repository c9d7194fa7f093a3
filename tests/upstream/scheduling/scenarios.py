"""All scenarios."""

from tests.upstream.scheduling.neighbours import RELATIONS, SPREADING
from tests.upstream.scheduling.placement import PLACEMENT
from tests.upstream.scheduling.preemption import PREEMPTION, VOLUMES
from tests.upstream.scheduling.profiles import PROFILES
from tests.upstream.scheduling.scenario import Scenario

SCENARIOS: list[Scenario] = [
    *PLACEMENT,
    *SPREADING,
    *RELATIONS,
    *PREEMPTION,
    *VOLUMES,
    *PROFILES,
]
