"""Our scheduler on our API server does what upstream's was seen to do on upstream's."""

from pathlib import Path
from typing import Any

from tests.upstream.scheduling.play import lasting_differences, play_ours, recorded
from tests.upstream.scheduling.scenario import Scenario

from winkube.client.rest import ApiClient
from winkube.testing.planes import api_server


async def test_scenarios_end_as_upstream_ended_them(tmp_path: Path) -> None:
    known = recorded()

    async def play(folder: Path, scenarios: list[Scenario]) -> tuple[Any, Any]:
        with api_server("winkube", folder) as plane:
            async with ApiClient(plane.client) as client:
                return await play_ours(client, folder, scenarios, known), known

    assert await lasting_differences(play, tmp_path) == {}
