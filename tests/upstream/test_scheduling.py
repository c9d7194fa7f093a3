"""Our scheduler and upstream's on the same (upstream) API server."""

from pathlib import Path

import pytest
from tests.upstream.scheduling.play import (
    all_differences,
    play_ours,
    play_upstream,
    recorded,
    with_places,
)
from tests.upstream.scheduling.scenarios import SCENARIOS

from winkube.client.rest import ApiClient
from winkube.testing.planes import api_server, upstream_folder

pytestmark = pytest.mark.skipif(
    upstream_folder() is None, reason="upstream is not built: run `make upstream`"
)


async def test_both_schedulers_do_the_same(tmp_path: Path) -> None:
    with api_server("upstream", tmp_path) as plane:
        theirs = await play_upstream(plane, SCENARIOS, recorded())
        async with ApiClient(plane.client) as client:
            ours = await play_ours(client, tmp_path, SCENARIOS, theirs)
    assert all_differences(ours, with_places(theirs, recorded())) == {}
