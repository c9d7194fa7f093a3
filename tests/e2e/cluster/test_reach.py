"""Services from outside, images from archives, and a machine that was switched off."""

import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.harness import Cluster, eventually, find_kubectls

from winkube.cluster.images import build_archive

pytestmark = pytest.mark.root


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return str(answer.read().decode())


def test_a_load_balancer_address_answers_on_the_host(iis: Cluster) -> None:
    iis.kubectl("expose", "deploy/iis", "--name=public", "--type=LoadBalancer", "--port=8088",
                "--target-port=80")  # fmt: skip
    try:
        ingress = eventually(
            lambda: iis.get("service", "public")["status"]["loadBalancer"]["ingress"][0]["ip"]
        )
        assert "IIS" in eventually(lambda: fetch(f"http://{ingress}:8088/"), seconds=20)
    finally:
        iis.kubectl("delete", "service", "public")


def test_a_loaded_image_runs(cluster: Cluster, tmp_path: Path) -> None:
    archive = tmp_path / "own.tar"
    program = Path("/bin/busybox").read_bytes()
    data = build_archive(program, ["sh", "echo"]).replace(
        b"winkube.local/busybox", b"winkube.local/builtby"
    )
    archive.write_bytes(data)
    said = cluster.winkube("load", str(archive), "--name", cluster.name).stdout
    assert "lin-1: winkube.local/builtby:latest" in said
    assert (
        "winkube.local/builtby:latest" in cluster.winkube("images", "--name", cluster.name).stdout
    )


def test_logs_are_exported(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    cluster.winkube("export-logs", str(folder), "--name", cluster.name)
    assert (folder / "components" / "apiserver.log").is_file()
    assert not list(folder.rglob("*.key"))


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster("e2e-r", tmp_path / "config", find_kubectls()[-1])
    yield made
    made.winkube("down", "--name", made.name)


def switch_off(name: str) -> None:
    """What a reboot leaves: the files of the disk, and nothing of the kernel."""
    for _ in range(3):  # the guard may be quicker than us
        pattern = f"winkube: {name} |/winkube/{name}/|/clusters/{name}/"
        found = subprocess.run(
            ["pgrep", "-f", pattern], capture_output=True, text=True, check=False
        )
        pids = found.stdout.split()
        for group in Path("/sys/fs/cgroup").glob(f"**/winkube/{name}/**/cgroup.procs"):
            pids += group.read_text().split()
        subprocess.run(["kill", "-9", *set(pids)], check=False, capture_output=True)
        time.sleep(0.2)
    for line in reversed(Path("/proc/mounts").read_text().splitlines()):
        point = line.split()[1]
        if f"/winkube/{name}/" in point or f"/clusters/{name}/" in point:
            subprocess.run(["umount", "-l", point], check=False)
    for space in Path("/run/netns").glob(f"wk-{name}-*"):
        subprocess.run(["ip", "netns", "del", space.name], check=True)
    subprocess.run(["rm", "-rf", f"/run/winkube/{name}"], check=True)


def test_a_cluster_comes_back_after_the_machine_was_switched_off(other: Cluster) -> None:
    other.winkube("up", "--name", other.name, "--windows", "1")
    other.kubectl("create", "deployment", "web", "--image=microsoft/iis")
    selector = {"nodeSelector": {"kubernetes.io/os": "windows"}}
    patch = json.dumps({"spec": {"template": {"spec": selector}}})
    other.kubectl("patch", "deployment", "web", "-p", patch)
    other.kubectl("rollout", "status", "deploy/web", "--timeout=90s")
    switch_off(other.name)
    other.winkube("up", "--name", other.name)
    eventually(
        lambda: (
            "10.0.17763"
            in other.kubectl("exec", "deploy/web", "--", "cmd", "/c", "ver", check=False).stdout
        ),
        seconds=90,
    )
