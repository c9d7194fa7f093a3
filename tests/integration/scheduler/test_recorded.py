"""Our scheduler on our API server does what upstream's was seen to do on upstream's."""

from pathlib import Path

from tests.upstream.scheduling.play import all_differences, play_ours, recorded
from tests.upstream.scheduling.scenarios import SCENARIOS

from winkube.client.rest import ApiClient
from winkube.testing.planes import api_server


async def test_scenarios_end_as_upstream_ended_them(tmp_path: Path) -> None:
    with api_server("winkube", tmp_path) as plane:
        async with ApiClient(plane.client) as client:
            ours = await play_ours(client, tmp_path, SCENARIOS, recorded())
    assert all_differences(ours, recorded()) == {}
