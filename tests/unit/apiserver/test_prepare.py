"""What an update of the status takes along."""

from typing import Any

import pytest

from winkube.api.kinds import Kind
from winkube.apiserver.registry.prepare import prepare_status
from winkube.apiserver.subresource.part import PARTS


def make(mark: str) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": mark, "uid": mark}
    return {
        "metadata": {
            "name": "a",
            "labels": {"mark": mark},
            "annotations": {"mark": mark},
            "finalizers": [f"example.com/{mark}"],
            "ownerReferences": [owner],
            "generation": len(mark),
        },
        "spec": {"mark": mark},
        "status": {"mark": mark},
    }


@pytest.mark.parametrize(
    ("group", "plural", "kept"),
    [
        ("batch", "jobs", set()),
        ("batch", "cronjobs", set()),
        ("apps", "daemonsets", set()),
        ("", "pods", {"ownerReferences"}),
        ("apps", "deployments", {"labels"}),
        (
            "networking.k8s.io",
            "servicecidrs",
            {"labels", "annotations", "finalizers", "ownerReferences"},
        ),
    ],
)
def test_a_status_update_takes_metadata_as_the_kinds_strategy_says(
    group: str, plural: str, kept: set[str]
) -> None:
    kind = Kind(group, "v1", "Any", plural, "any", namespaced=True)
    new, old = make("new"), make("older")
    prepare_status(kind, new, old)
    assert new["status"] == {"mark": "new"}
    assert new["spec"] == {"mark": "older"}
    assert new["metadata"]["generation"] == 5
    fields = ("labels", "annotations", "finalizers", "ownerReferences")
    assert {
        name for name in fields if new["metadata"][name] == make("older")["metadata"][name]
    } == kept


@pytest.mark.parametrize(
    ("plural", "part", "free"),
    [
        ("certificatesigningrequests", "approval", True),
        ("namespaces", "finalize", True),
        ("pods", "ephemeralcontainers", False),
    ],
)
def test_parts_take_metadata_as_their_strategies_say(plural: str, part: str, free: bool) -> None:
    kind = Kind("", "v1", "Any", plural, "any", namespaced=True)
    new, old = make("new"), make("older")
    PARTS[plural, part].prepare(kind, new, old)
    assert new["metadata"]["annotations"] == {"mark": "new" if free else "older"}
    assert new["metadata"]["labels"] == {"mark": "new" if free else "older"}
