"""A namespace's label puts Windows pods on Windows nodes, whoever writes or makes them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.harness import Cluster, eventually

pytestmark = pytest.mark.root

IIS = "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2019"
LABEL = "winkube.dev/windows-admission"
SPACE = "placed"
LABELS = {"app": "web"}


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    """Nothing in it but the image says Windows."""
    pod = {"terminationGracePeriodSeconds": 1, "containers": [{"name": "web", "image": IIS}]}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": SPACE},
        "spec": {
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": pod},
            **spec,
        },
    }


@pytest.fixture
def space(cluster: Cluster) -> Iterator[Cluster]:
    with cluster.namespace(SPACE, f"{LABEL}=mutate"):
        yield cluster


def names(cluster: Cluster, *query: str) -> list[str]:
    return sorted(item["metadata"]["name"] for item in cluster.get(*query)["items"])


def homes(cluster: Cluster) -> list[str]:
    pods = cluster.get("pods", "-n", SPACE)["items"]
    return sorted(pod["spec"].get("nodeName", "") for pod in pods)


def test_pods_of_a_deployment_run_on_windows_and_its_template_stays(space: Cluster) -> None:
    text = json.dumps(workload("Deployment", replicas=2))
    applied = space.kubectl("apply", "-f", "-", stdin=text)
    assert "Warning" not in applied.stderr
    space.kubectl("rollout", "status", "deploy/web", "-n", SPACE, "--timeout=90s")
    windows = names(space, "nodes", "-l", "kubernetes.io/os=windows")
    assert len(homes(space)) == 2
    assert set(homes(space)) <= set(windows)
    assert space.kubectl("diff", "-f", "-", stdin=text).stdout == ""
    for pod in space.get("pods", "-n", SPACE)["items"]:
        assert pod["spec"]["os"] == {"name": "windows"}


def test_a_daemon_set_gets_one_pod_per_windows_node(space: Cluster) -> None:
    space.kubectl("apply", "-f", "-", stdin=json.dumps(workload("DaemonSet")))
    windows = names(space, "nodes", "-l", "kubernetes.io/os=windows")
    space.kubectl("rollout", "status", "ds/web", "-n", SPACE, "--timeout=90s")
    assert homes(space) == windows


def test_a_strict_namespace_tells_it_to_the_controller_too(space: Cluster) -> None:
    """A template from before the label: its pods are refused, and an event says why."""
    space.kubectl("label", "--overwrite", "namespace", SPACE, f"{LABEL}=off")
    space.kubectl("apply", "-f", "-", stdin=json.dumps(workload("Deployment", replicas=0)))
    space.kubectl("label", "--overwrite", "namespace", SPACE, f"{LABEL}=enforce")
    space.kubectl("scale", "deploy/web", "-n", SPACE, "--replicas=1")

    def refused() -> bool:
        events = space.get("events", "-n", SPACE)["items"]
        return any("the Windows rules refuse it: WIN-SCHED-001" in e["message"] for e in events)

    eventually(refused)
    assert homes(space) == []
