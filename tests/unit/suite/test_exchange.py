from typing import Any

import pytest
from tests.upstream.exchange import is_cut_short

ADDED = {"type": "ADDED", "object": {"kind": "ConfigMap"}}
MODIFIED = {"type": "MODIFIED", "object": {"kind": "ConfigMap"}}


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"status": 200, "body": [ADDED, MODIFIED]}, {"status": 200, "body": ADDED}),
        ({"status": 200, "body": ADDED}, {"status": 200, "body": ""}),
        ({"events": [ADDED, MODIFIED]}, {"events": []}),
    ],
)
def test_a_watch_may_have_ended_too_soon(expected: Any, found: Any) -> None:
    assert is_cut_short(expected, found)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"status": 200, "body": [ADDED]}, {"status": 200, "body": [ADDED]}),
        ({"status": 200, "body": [ADDED, MODIFIED]}, {"status": 200, "body": [MODIFIED]}),
        ({"status": 200, "body": ADDED}, {"status": 200, "body": [ADDED, MODIFIED]}),
        ({"status": 200, "body": {"kind": "ConfigMap"}}, {"status": 200, "body": ""}),
        ({"status": 200, "body": ["a", "b"]}, {"status": 200, "body": ["a"]}),
    ],
)
def test_no_other_difference_is_forgiven(expected: Any, found: Any) -> None:
    assert not is_cut_short(expected, found)
