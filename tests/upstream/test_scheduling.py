"""Our scheduler and upstream's on the same (upstream) API server."""

from pathlib import Path
from typing import Any

import pytest
from tests.upstream.scheduling.play import (
    lasting_differences,
    play_ours,
    play_upstream,
    recorded,
    with_places,
)
from tests.upstream.scheduling.scenario import Scenario

from winkube.client.rest import ApiClient
from winkube.testing.planes import api_server, upstream_folder

pytestmark = pytest.mark.skipif(
    upstream_folder() is None, reason="upstream is not built: run `make upstream`"
)


async def test_both_schedulers_do_the_same(tmp_path: Path) -> None:
    async def play(folder: Path, scenarios: list[Scenario]) -> tuple[Any, Any]:
        with api_server("upstream", folder) as plane:
            theirs = await play_upstream(plane, scenarios, recorded())
            async with ApiClient(plane.client) as client:
                ours = await play_ours(client, folder, scenarios, theirs)
                return ours, with_places(theirs, recorded())

    assert await lasting_differences(play, tmp_path) == {}
