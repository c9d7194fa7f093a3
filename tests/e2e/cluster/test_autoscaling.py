"""What pods use is seen, and workloads follow it: metrics and the autoscaler, on Windows nodes."""

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.harness import Cluster, eventually, find_kubectls

pytestmark = pytest.mark.root

WINDOWS = {"kubernetes.io/os": "windows"}
SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2019"
BUSYBOX = "winkube.local/busybox"
MILLI = 1_000_000  # nano-cores


def deployment(name: str, container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    pod = {
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", **container}],
        **spec,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    }


def usages(cluster: Cluster, app: str) -> list[tuple[int, int]]:
    """CPU in nano-cores and memory in KiB of each container."""
    path = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3D" + app
    items = json.loads(cluster.kubectl("get", "--raw", path).stdout)["items"]
    found = [entry["usage"] for item in items for entry in item["containers"]]
    return [
        (int(usage["cpu"].removesuffix("n")), int(usage["memory"].removesuffix("Ki")))
        for usage in found
    ]


@contextmanager
def load(url: str, clients: int = 4) -> Iterator[None]:
    """Requests without a pause, until the end of the block."""
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    answer.read()
            except OSError:
                over.wait(0.05)

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


@pytest.fixture
def spinning(cluster: Cluster) -> Iterator[Cluster]:
    """A Windows pod that burns a tenth of a processor, and a Linux pod that sleeps."""
    spin = {
        "image": SERVERCORE,
        "command": ["cmd", "/c", "for /L %i in (1,0,2) do @rem"],
        "resources": {"limits": {"cpu": "100m"}},
    }
    rest = {"image": BUSYBOX, "command": ["sleep", "3600"]}
    cluster.apply(
        deployment("spin", spin, nodeSelector=WINDOWS),
        deployment("rest", rest, nodeSelector={"kubernetes.io/os": "linux"}),
    )
    try:
        for name in ("spin", "rest"):
            cluster.kubectl("rollout", "status", f"deploy/{name}", "--timeout=90s")
        yield cluster
    finally:
        cluster.kubectl("delete", "deploy", "spin", "rest")


def test_top_shows_what_windows_and_linux_pods_really_use(spinning: Cluster) -> None:
    def settled() -> bool:
        found = usages(spinning, "spin")
        # A limit of a tenth is what a container without rest uses, less on a busy machine.
        return bool(found) and 30 * MILLI < found[0][0] < 140 * MILLI and found[0][1] > 1024

    eventually(settled, seconds=40, every=1.0)
    [(cpu, memory)] = eventually(lambda: usages(spinning, "rest"), seconds=30)
    assert cpu < 20 * MILLI
    assert memory > 0


@pytest.mark.parametrize("program", find_kubectls(), ids=lambda path: path.name)
def test_every_kubectl_reads_metrics(spinning: Cluster, program: Path) -> None:
    cluster = Cluster(spinning.name, spinning.kubeconfig, program)
    eventually(lambda: usages(cluster, "spin"), seconds=30)
    nodes = cluster.kubectl("top", "nodes").stdout
    assert [line.split()[0] for line in nodes.splitlines()[1:]] == ["lin-1", "win-1", "win-2"]
    pods = cluster.kubectl("top", "pods", "-l", "app=spin", "--containers").stdout
    _, name, cpu, memory = pods.splitlines()[1].split()
    assert name == "main"
    assert cpu.endswith("m")
    assert memory.endswith("Mi")


def test_a_windows_deployment_grows_under_load_and_shrinks_without(cluster: Cluster) -> None:
    web = {
        "image": "microsoft/iis",
        "ports": [{"containerPort": 80}],
        "resources": {"requests": {"cpu": "20m"}, "limits": {"cpu": "200m"}},
        "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "busy"},
        "spec": {"type": "NodePort", "selector": {"app": "busy"}, "ports": [{"port": 80}]},
    }
    at_once = [{"type": "Pods", "value": 4, "periodSeconds": 5}]
    resource = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 100}}
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "busy"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "busy"},
            "minReplicas": 1,
            "maxReplicas": 2,
            "metrics": [{"type": "Resource", "resource": resource}],
            "behavior": {
                "scaleUp": {"stabilizationWindowSeconds": 0, "policies": at_once},
                "scaleDown": {"stabilizationWindowSeconds": 1, "policies": at_once},
            },
        },
    }
    cluster.apply(deployment("busy", web, nodeSelector=WINDOWS), service, autoscaler)
    try:
        cluster.kubectl("rollout", "status", "deploy/busy", "--timeout=90s")
        address = cluster.get("node", "win-1")["status"]["addresses"][0]["address"]
        port = cluster.get("service", "busy")["spec"]["ports"][0]["nodePort"]
        with load(f"http://{address}:{port}/"):
            eventually(lambda: ready(cluster) == 2, seconds=60, every=1.0)
            described = cluster.kubectl("describe", "hpa", "busy").stdout
            assert "cpu resource utilization (percentage of request) above target" in described
        eventually(lambda: ready(cluster) == 1, seconds=60, every=1.0)
        described = cluster.kubectl("describe", "hpa", "busy").stdout
        assert "New size: 1; reason: All metrics below target" in described
    finally:
        cluster.kubectl("delete", "hpa/busy", "service/busy", "deploy/busy")


def ready(cluster: Cluster) -> int:
    status = cluster.get("deploy", "busy")["status"]
    return int(status.get("readyReplicas", 0)) if status["replicas"] < 3 else -1
