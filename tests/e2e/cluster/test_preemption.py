"""A Windows pod of higher priority makes room for itself."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.harness import Cluster, eventually

pytestmark = pytest.mark.root

SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2019"
SPACE = "crowded"


def spec(cpu: str, **more: Any) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": SERVERCORE,
        "command": ["cmd", "/c", "ping -t localhost >nul"],
        "resources": {"requests": {"cpu": cpu}},
    }
    place = {"kubernetes.io/hostname": "win-1"}
    return {
        "nodeSelector": place,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        **more,
    }


@pytest.fixture
def space(cluster: Cluster) -> Iterator[Cluster]:
    cluster.kubectl("create", "priorityclass", "urgent", "--value=1000")
    with cluster.namespace(SPACE):
        yield cluster
    cluster.kubectl("delete", "priorityclass", "urgent")


def pod(name: str, body: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": SPACE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def test_an_urgent_windows_pod_takes_the_place_of_a_lesser_one(space: Cluster) -> None:
    cores = int(space.get("node", "win-1")["status"]["allocatable"]["cpu"])
    space.apply(pod("lesser", spec(f"{cores * 1000 - 300}m")))
    space.kubectl("wait", "--for=condition=Ready", "pod/lesser", "-n", SPACE, "--timeout=90s")
    space.apply(pod("equal", spec("500m")))
    space.apply(pod("urgent", spec("500m", priorityClassName="urgent")))
    space.kubectl("wait", "--for=condition=Ready", "pod/urgent", "-n", SPACE, "--timeout=90s")
    names = space.kubectl("get", "pods", "-n", SPACE, "-o", "name").stdout.split()
    assert "pod/lesser" not in names
    eventually(lambda: "Preempted" in reasons(space, "lesser"))
    # What has no priority preempts nobody: it waits, and gets the room that was left.
    space.kubectl("wait", "--for=condition=Ready", "pod/equal", "-n", SPACE, "--timeout=90s")
    assert "FailedScheduling" in reasons(space, "equal")


def reasons(cluster: Cluster, name: str) -> set[str]:
    about = f"--field-selector=involvedObject.name={name}"
    found = cluster.get("events", "-n", SPACE, about)["items"]
    return {event["reason"] for event in found}
