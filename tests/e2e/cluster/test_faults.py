"""Kill -9 of any process: it is back at once, and pods do not notice."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from tests.e2e.harness import Cluster, eventually

pytestmark = pytest.mark.root

COMPONENTS = [
    "apiserver", "controllers", "dns", "containerd-lin-1", "kubelet-lin-1", "proxy-lin-1",
    "hns-win-1", "cri-win-1", "kubelet-win-1", "proxy-win-1", "guard", "supervisor",
]  # fmt: skip


def pids(cluster: Cluster) -> dict[str, int]:
    """Component -> pid, as ``winkube status`` tells it."""
    text = cluster.winkube("status", "--name", cluster.name, check=False).stdout
    return {m[1]: int(m[2]) for m in re.finditer(r"^(\S+)\s+running\s+(\d+)", text, re.MULTILINE)}


def containers(cluster: Cluster) -> dict[str, tuple[int, str]]:
    found = {}
    for pod in cluster.get("pods", "-A")["items"]:
        for status in pod["status"].get("containerStatuses", []):
            found[pod["metadata"]["name"]] = (status["restartCount"], status["containerID"])
    return found


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_killed_component_comes_back_and_pods_keep_running(iis: Cluster, component: str) -> None:
    before = containers(iis)
    old = pids(iis)[component]
    os.kill(old, signal.SIGKILL)
    eventually(lambda: (new := pids(iis).get(component)) and new != old, seconds=30)
    eventually(
        lambda: iis.winkube("status", "--name", iis.name, check=False).returncode == 0, seconds=60
    )
    out = eventually(
        lambda: iis.kubectl("exec", "deploy/iis", "--", "cmd", "/c", "ver", check=False).stdout,
        seconds=30,
    )
    assert "10.0.17763" in out
    assert containers(iis) == before


def test_services_still_work_after_all_that(iis: Cluster) -> None:
    port = iis.get("service", "iis")["spec"]["ports"][0]["nodePort"]
    for node in iis.get("nodes")["items"]:
        address = node["status"]["addresses"][0]["address"]
        url = f"http://{address}:{port}/"

        def answers(url: str = url) -> bool:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return bool(answer.status == 200)

        assert eventually(answers, seconds=20)


WRITER = """
import subprocess, sys
kubectl, count = sys.argv[1], 0
while True:
    name = f"kill-{count}"
    done = subprocess.run([kubectl, "create", "configmap", name], capture_output=True)
    if done.returncode == 0:
        print(name, flush=True)
    count += 1
"""


def test_every_acknowledged_write_survives_the_api_servers_death(
    cluster: Cluster, tmp_path: Path
) -> None:
    log = tmp_path / "acknowledged"
    with log.open("w") as file:
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(cluster.program)],
            env=cluster.environment(), stdout=file,
        )  # fmt: skip
    try:
        for _ in range(3):
            time.sleep(1.0)
            os.kill(pids(cluster)["apiserver"], signal.SIGKILL)
            eventually(
                lambda: cluster.kubectl("get", "--raw", "/readyz", check=False).stdout == "ok"
            )
        time.sleep(0.5)
    finally:
        writer.kill()
        writer.wait()
    acknowledged = log.read_text().split()
    listing = json.loads(cluster.kubectl("get", "configmaps", "-o", "json").stdout)
    present = {item["metadata"]["name"] for item in listing["items"]}
    assert len(acknowledged) > 3
    assert set(acknowledged) <= present
    cluster.kubectl("delete", "configmap", *acknowledged)
