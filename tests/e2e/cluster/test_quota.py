"""Quotas, limit ranges, runtime classes and pod security, on Windows pods that really run."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.harness import Cluster, eventually

pytestmark = pytest.mark.root

SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2019"
WAITS = ["cmd", "/c", "ping -t localhost >nul"]
SPACE = "limited"


def pod(name: str, **spec: Any) -> dict[str, Any]:
    full = {
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": SERVERCORE, "command": WAITS}],
        **spec,
    }
    metadata = {"name": name, "namespace": SPACE, "labels": {"app": "limited"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": full}


@pytest.fixture
def space(cluster: Cluster) -> Iterator[Cluster]:
    with cluster.namespace(SPACE):
        yield cluster


def create(cluster: Cluster, obj: dict[str, Any]) -> str:
    """What kubectl says, of success or failure."""
    done = cluster.kubectl("create", "-f", "-", stdin=json.dumps(obj), check=False)
    return done.stdout + done.stderr


def used(cluster: Cluster) -> dict[str, str]:
    return dict(cluster.get("quota", "q", "-n", SPACE).get("status", {}).get("used") or {})


def test_windows_pods_are_counted_limited_and_replenished(space: Cluster) -> None:
    space.kubectl("create", "quota", "q", "-n", SPACE, "--hard=pods=2,cpu=1,limits.memory=2Gi")
    eventually(lambda: used(space) == {"cpu": "0", "limits.memory": "0", "pods": "0"})
    assert "failed quota: q: must specify cpu for: main; limits.memory for: main" in create(
        space, pod("bare")
    )
    limit = {
        "type": "Container",
        "default": {"cpu": "500m", "memory": "512Mi"},
        "defaultRequest": {"cpu": "200m", "memory": "256Mi"},
    }
    space.apply(
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "l", "namespace": SPACE},
            "spec": {"limits": [limit]},
        }
    )
    for name in ("a", "b"):
        assert create(space, pod(name)) == f"pod/{name} created\n"
    space.kubectl("wait", "--for=condition=Ready", "pod", "--all", "-n", SPACE, "--timeout=90s")
    made = space.get("pod", "a", "-n", SPACE)
    assert made["spec"]["containers"][0]["resources"]["requests"]["memory"] == "256Mi"
    assert made["status"]["qosClass"] == "Burstable"
    assert used(space) == {"cpu": "400m", "limits.memory": "1Gi", "pods": "2"}
    assert "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2" in create(
        space, pod("c")
    )
    assert "400m" in space.kubectl("describe", "quota", "q", "-n", SPACE).stdout
    space.kubectl("delete", "pod", "a", "-n", SPACE)
    eventually(lambda: used(space)["pods"] == "1", seconds=20)
    assert create(space, pod("c")) == "pod/c created\n"


def test_a_runtime_class_leads_to_windows_nodes(space: Cluster) -> None:
    scheduling = {"nodeSelector": {"kubernetes.io/os": "windows"}}
    space.apply(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "windows-2019"},
            "handler": "runhcs-wcow-process",
            "overhead": {"podFixed": {"memory": "32Mi"}},
            "scheduling": scheduling,
        }
    )
    try:
        said = create(space, pod("led", runtimeClassName="windows-2019", nodeSelector={}))
        assert said == "pod/led created\n"
        made = space.get("pod", "led", "-n", SPACE)
        assert made["spec"]["overhead"] == {"memory": "32Mi"}
        assert made["spec"]["nodeSelector"] == scheduling["nodeSelector"]
        eventually(
            lambda: space.get("pod", "led", "-n", SPACE)["spec"]["nodeName"].startswith("win-")
        )
        linux = {"kubernetes.io/os": "linux"}
        assert "conflict: runtimeClass.scheduling.nodeSelector[kubernetes.io/os] = windows" in (
            create(space, pod("torn", runtimeClassName="windows-2019", nodeSelector=linux))
        )
    finally:
        space.kubectl("delete", "runtimeclass", "windows-2019")


def test_host_processes_need_a_privileged_namespace(space: Cluster) -> None:
    options = {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}
    host = pod(
        "host",
        os={"name": "windows"},
        hostNetwork=True,
        securityContext={"windowsOptions": options},
    )
    space.kubectl("label", "namespace", SPACE, "pod-security.kubernetes.io/enforce=baseline")
    assert (
        'violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true), hostProcess '
        "(pod must not set securityContext.windowsOptions.hostProcess=true)"
    ) in create(space, host)
    space.kubectl(
        "label", "namespace", SPACE, "pod-security.kubernetes.io/enforce=privileged", "--overwrite"
    )
    assert create(space, host) == "pod/host created\n"
