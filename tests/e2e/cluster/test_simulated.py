"""Simulated nodes beside the real ones of a cluster: made, used, refused, changed, gone."""

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.harness import Cluster, eventually

ROLE = "node-role.kubernetes.io/simulated"
POD: dict[str, Any] = {
    "tolerations": [{"key": ROLE, "operator": "Exists"}],
    "nodeSelector": {ROLE: "", "kubernetes.io/os": "windows"},
    "containers": [{"name": "app", "image": "any", "resources": {"requests": {"cpu": "100m"}}}],
}


def deployment(name: str, replicas: int, usage: str) -> dict[str, Any]:
    notes = {"simulation.winkube.dev/usage.app": usage}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}, "annotations": notes}, "spec": POD},
        },
    }


def simulate(cluster: Cluster, count: int, windows: int) -> str:
    options = ("--simulated", str(count), "--simulated-windows", str(windows))
    cluster.winkube("up", "--name", cluster.name, *options)
    return cluster.winkube("status", "--name", cluster.name).stdout


def names(cluster: Cluster) -> list[str]:
    return sorted(node["metadata"]["name"] for node in cluster.get("nodes", "-l", ROLE)["items"])


@pytest.fixture
def simulated(cluster: Cluster) -> Iterator[Cluster]:
    try:
        assert "Simulated nodes: 6 of 6 Ready (4 Linux, 2 Windows)" in simulate(cluster, 6, 2)
        yield cluster
    finally:
        simulate(cluster, 0, 0)


def test_pods_run_on_them_and_an_autoscaler_sees_the_load_they_are_told(simulated: Cluster) -> None:
    simulated.apply(deployment("many", 20, "cpu=300m,memory=20Mi"))
    try:
        simulated.kubectl("rollout", "status", "deploy/many", "--timeout=120s", timeout=150)
        pods = simulated.get("pods", "-l", "app=many")["items"]
        assert {pod["spec"]["nodeName"] for pod in pods} == {"sim-win-1", "sim-win-2"}
        assert all(pod["status"]["hostIP"].startswith("198.18.") for pod in pods)
        simulated.kubectl("autoscale", "deploy/many", "--min=1", "--max=24", "--cpu-percent=50")
        eventually(lambda: simulated.get("deploy", "many")["spec"]["replicas"] == 24, seconds=120)
    finally:
        simulated.kubectl("delete", "hpa,deploy", "many", "--ignore-not-found")


def test_what_has_no_process_says_so(simulated: Cluster) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "still"}, "spec": POD}
    simulated.apply(pod)
    try:
        simulated.kubectl("wait", "--for=condition=Ready", "pod/still", "--timeout=60s")
        for command in (("logs", "still"), ("exec", "still", "--", "cmd")):
            refused = simulated.kubectl(*command, check=False)
            assert refused.returncode != 0
            assert "is simulated: its containers are only records" in refused.stderr
    finally:
        simulated.kubectl("delete", "pod", "still", "--ignore-not-found")


def test_real_workloads_and_routes_do_not_lead_there(simulated: Cluster) -> None:
    spec = {"containers": [{"name": "app", "image": "winkube.local/busybox"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "real"}, "spec": spec}
    simulated.apply(pod)
    try:
        eventually(lambda: simulated.get("pod", "real")["spec"].get("nodeName"), seconds=30)
        assert not simulated.get("pod", "real")["spec"]["nodeName"].startswith("sim-")
    finally:
        simulated.kubectl("delete", "pod", "real", "--ignore-not-found", "--grace-period=0")
    for node in ("cp", "lin-1", "win-1"):
        show = ["ip", "-n", f"wk-{simulated.name}-{node}", "route"]
        routes = subprocess.run(show, capture_output=True, text=True, check=True).stdout
        assert "10.244." in routes
        assert "100.64." not in routes


def test_their_number_may_be_changed_and_the_others_do_not_notice(simulated: Cluster) -> None:
    before = {node["metadata"]["uid"] for node in simulated.get("nodes", "-l", f"!{ROLE}")["items"]}
    simulated.apply(deployment("few", 4, ""))
    try:
        simulated.kubectl("rollout", "status", "deploy/few", "--timeout=120s", timeout=150)
        simulate(simulated, 3, 1)
        assert names(simulated) == ["sim-lin-1", "sim-lin-2", "sim-win-1"]

        def moved() -> bool:
            pods = simulated.get("pods", "-l", "app=few")["items"]
            ready = simulated.get("deploy", "few")["status"].get("readyReplicas")
            return ready == 4 and {pod["spec"]["nodeName"] for pod in pods} == {"sim-win-1"}

        eventually(moved, seconds=180)
        status = simulate(simulated, 0, 0)
        assert names(simulated) == []
        assert "simulated" not in status.lower()
    finally:
        simulated.kubectl("delete", "deploy", "few", "--ignore-not-found")
    after = {node["metadata"]["uid"] for node in simulated.get("nodes", "-l", f"!{ROLE}")["items"]}
    assert after == before
