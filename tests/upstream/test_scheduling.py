"""Our scheduler and upstream's on the same (upstream) API server."""

from pathlib import Path

import pytest
from tests.upstream.scheduling.play import differences, play_ours, play_upstream, recorded
from tests.upstream.scheduling.scenarios import SCENARIOS

from winkube.client.rest import ApiClient
from winkube.testing.planes import api_server, upstream_folder

pytestmark = pytest.mark.skipif(
    upstream_folder() is None, reason="upstream is not built: run `make upstream`"
)
# Some scenarios are races between a scheduler and its cluster, which either side may win.
ATTEMPTS = 3


async def test_both_schedulers_do_the_same(tmp_path: Path) -> None:
    left, known = list(SCENARIOS), recorded()
    found: dict[str, list[str]] = {}
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        with api_server("upstream", folder) as plane:
            theirs = await play_upstream(plane, left, known)
            async with ApiClient(plane.client) as client:
                ours = await play_ours(client, folder, left, theirs)
        outcomes = {name: differences(outcome, theirs[name]) for name, outcome in ours.items()}
        found = {name: each for name, each in outcomes.items() if each}
        left = [scenario for scenario in left if scenario.name in found]
        if not left:
            break
    assert found == {}
