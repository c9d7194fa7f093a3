"""The roles and bindings every cluster has are upstream's."""

from pathlib import Path

import pytest
from tests.upstream.exchange import conversation
from tests.upstream.record_roles import await_roles, read_roles

from winkube.apiserver.auth.bootstrap import default_roles
from winkube.testing.planes import api_server, upstream_folder

# What only our own components need, or other projects' components bring along.
OWN = {"winkube:controllers", "winkube:scheduler", "winkube:proxy", "system:coredns",
       "system:metrics-server"}  # fmt: skip
# Filled in by whoever aggregates; upstream's controllers, or ours beforehand.
AGGREGATED = {"admin", "edit", "view"}


def test_our_server_has_the_recorded_roles(tmp_path: Path) -> None:
    with api_server("winkube", tmp_path) as plane, conversation(plane.client) as talk:
        found = read_roles(talk)
    for kind, wanted in default_roles().items():
        have = {
            (item["metadata"].get("namespace"), item["metadata"]["name"]): item
            for item in found[kind]
            if item["metadata"]["name"] not in OWN
        }
        expected = {
            (item["metadata"].get("namespace"), item["metadata"]["name"]): item for item in wanted
        }
        assert have == expected


def test_the_recorded_roles_are_upstreams(tmp_path: Path) -> None:
    if upstream_folder() is None:
        pytest.skip("not built (`make upstream`): the recorded roles cannot be judged")
    with api_server("upstream", tmp_path) as plane, conversation(plane.client) as talk:
        found = await_roles(talk)
    for kind, wanted in default_roles().items():
        assert [_unfilled(item) for item in wanted] == [_unfilled(item) for item in found[kind]]


def _unfilled(item: object) -> object:
    assert isinstance(item, dict)
    if item["metadata"]["name"] in AGGREGATED:
        return {key: value for key, value in item.items() if key != "rules"}
    return item
