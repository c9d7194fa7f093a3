"""Containers of Linux nodes that run as somebody else than root."""

from collections.abc import Iterator

import pytest
from tests.e2e.harness import Cluster, eventually

pytestmark = pytest.mark.root


@pytest.fixture
def space(cluster: Cluster) -> Iterator[str]:
    with cluster.namespace("user") as name:
        yield name


def test_any_user_may_look_into_the_root_folder(cluster: Cluster, space: str) -> None:
    container = {
        "name": "main",
        "image": "winkube.local/busybox",
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", "ls / >/dev/null && stat -c %a /"],
        "securityContext": {"runAsUser": 1000},
    }
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "looker", "namespace": space},
            "spec": {
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "restartPolicy": "Never",
                "containers": [container],
            },
        }
    )

    def check() -> bool:
        phase = cluster.get("pod", "looker", "-n", space)["status"].get("phase")
        return phase in ("Succeeded", "Failed")

    eventually(check)
    assert cluster.kubectl("logs", "looker", "-n", space).stdout == "755\n"
