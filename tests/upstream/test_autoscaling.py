"""Our autoscaler and upstream's make the same of the same pods and figures.

The record is upstream's: ``python -m pytest tests/upstream/test_autoscaling.py`` compares with it,
and with the program itself where it is built. WINKUBE_RECORD=1 writes the record anew.
"""

import os
from pathlib import Path

import pytest
from tests.upstream.autoscaling_scenarios import SCENARIOS
from tests.upstream.play_autoscaling import differences, play, read_record, write_record

from winkube.testing.planes import upstream_folder


async def test_the_autoscaler_does_and_says_what_upstreams_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = await play("winkube", SCENARIOS, tmp_path, monkeypatch)
    record = read_record()
    found = [
        f"{name}: {text}"
        for name, result in ours.items()
        for text in differences(result, record.get(name) or {})
    ]
    assert not found, "\n".join(found)


async def test_upstreams_autoscaler_works_on_our_api_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if upstream_folder() is None:
        pytest.skip("not built (`make upstream`): only the record is compared")
    theirs = await play("upstream", SCENARIOS, tmp_path, monkeypatch)
    if os.environ.get("WINKUBE_RECORD"):
        write_record(theirs)
    record = read_record()
    found = [
        f"{name}: {text}"
        for name, result in theirs.items()
        for text in differences(result, record.get(name) or {})
    ]
    assert not found, "\n".join(found)
