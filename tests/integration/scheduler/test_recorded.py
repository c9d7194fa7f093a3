"""Our scheduler on our API server does what upstream's was seen to do on upstream's."""

from pathlib import Path

from tests.upstream.scheduling.play import differences, play_ours, recorded
from tests.upstream.scheduling.scenarios import SCENARIOS

from winkube.client.rest import ApiClient
from winkube.testing.planes import api_server

# Some scenarios are races between a scheduler and its cluster, which either side may win.
ATTEMPTS = 3


async def test_scenarios_end_as_upstream_ended_them(tmp_path: Path) -> None:
    left, known = list(SCENARIOS), recorded()
    found: dict[str, list[str]] = {}
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        with api_server("winkube", folder) as plane:
            async with ApiClient(plane.client) as client:
                ours = await play_ours(client, folder, left, known)
        outcomes = {name: differences(outcome, known[name]) for name, outcome in ours.items()}
        found = {name: each for name, each in outcomes.items() if each}
        left = [scenario for scenario in left if scenario.name in found]
        if not left:
            break
    assert found == {}
