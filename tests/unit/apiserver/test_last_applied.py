from typing import Any

import pytest

from winkube.apiserver.apply.last_applied import renew_note

NOTE = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.mark.parametrize(("letter", "is_kept"), [("e", True), ("é", False)])
def test_a_note_that_is_too_large_goes_and_bytes_count(letter: str, is_kept: bool) -> None:
    wanted: dict[str, Any] = {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": ""}}
    wanted["data"]["a"] = letter * (200 * 1024)
    live: dict[str, Any] = {"metadata": {"name": "a", "annotations": {NOTE: "{}", "b": "c"}}}
    renew_note(live, wanted)
    assert (NOTE in live["metadata"]["annotations"]) is is_kept
    assert live["metadata"]["annotations"]["b"] == "c"
