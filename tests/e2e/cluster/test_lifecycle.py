"""Clusters side by side, twice up, killed half-way, and gone without a trace."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.harness import Cluster, eventually, find_kubectls

pytestmark = pytest.mark.root


def traces(name: str) -> list[str]:
    """Everything on this machine that belongs to a cluster of this name."""
    found = [f"netns {p}" for p in Path("/run/netns").glob(f"wk-{name}-*")]
    found += [f"mount {line}" for line in Path("/proc/mounts").read_text().splitlines()
              if f"/winkube/{name}/" in line or f"/clusters/{name}/" in line]  # fmt: skip
    groups = [Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").iterdir()]
    found += [f"cgroup {g}" for g in groups if (g / "winkube" / name).exists()]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if (
            f"winkube: {name} " in words
            or f"/winkube/{name}/" in words
            or f"/clusters/{name}/" in words
        ):
            found.append(f"process {words}")
    rules = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=True)
    found += [f"nft {line}" for line in rules.stdout.splitlines() if name in line]
    for root in (Path("/run/winkube"), Path("/var/lib/winkube/clusters")):
        if (root / name).exists():
            found.append(f"folder {root / name}")
    return found


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster("e2e-b", tmp_path / "config", find_kubectls()[-1])
    yield made
    made.winkube("down", "--name", made.name)
    assert traces(made.name) == []


def test_a_second_cluster_lives_beside_the_first(cluster: Cluster, second: Cluster) -> None:
    second.winkube("up", "--name", second.name, "--linux", "1", "--windows", "1")
    names = {n["metadata"]["name"] for n in second.get("nodes")["items"]}
    assert names == {"lin-1", "win-1"}
    listing = cluster.winkube("ls").stdout
    assert second.name in listing
    again = second.winkube("up", "--name", second.name)
    assert "ready" in again.stdout
    assert cluster.kubectl("get", "--raw", "/readyz").stdout == "ok"


@pytest.mark.parametrize("seconds", [0.3, 0.8, 1.6])
def test_an_up_killed_half_way_is_cleaned_by_down(second: Cluster, seconds: float) -> None:
    argv = [sys.executable, "-m", "winkube", "up", "--name", second.name]
    process = subprocess.Popen(argv, env=second.environment(), stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
    second.winkube("down", "--name", second.name)
    assert traces(second.name) == []


def test_down_ends_an_up_that_is_under_way(second: Cluster) -> None:
    argv = [sys.executable, "-m", "winkube", "up", "--name", second.name]
    process = subprocess.Popen(argv, env=second.environment(), stderr=subprocess.DEVNULL)
    time.sleep(1.2)
    second.winkube("down", "--name", second.name)
    assert process.wait(10) != 0
    assert traces(second.name) == []


def test_an_up_killed_half_way_is_finished_by_the_next(second: Cluster) -> None:
    argv = [sys.executable, "-m", "winkube", "up", "--name", second.name, "--windows", "1"]
    process = subprocess.Popen(argv, env=second.environment(), stderr=subprocess.DEVNULL)
    time.sleep(1.0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    second.winkube("up", "--name", second.name, "--windows", "1")
    assert len(second.get("nodes")["items"]) == 2


def test_down_of_nothing_says_so(second: Cluster) -> None:
    assert "no cluster" in second.winkube("down", "--name", second.name).stdout


def test_a_wrong_file_names_the_field(second: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text("apiVersion: winkube.io/v1alpha1\nkind: Cluster\nnodes: [{os: plan9}]\n")
    done = second.winkube("up", "-f", str(path), check=False)
    assert done.returncode == 1
    assert "nodes[0].os" in done.stderr


def test_without_root_it_says_what_is_missing(second: Cluster) -> None:
    # A user namespace without a mapping: we are nobody, yet may still read our own program.
    argv = ["unshare", "--user", sys.executable, "-m", "winkube", "up", "--name", second.name]
    done = subprocess.run(
        argv, env=second.environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "sudo" in done.stderr


def test_everything_is_gone_after_down(second: Cluster) -> None:
    second.winkube("up", "--name", second.name, "--windows", "1")
    eventually(lambda: second.get("serviceaccount", "default"))
    second.kubectl("create", "deployment", "iis", "--image=microsoft/iis")
    eventually(lambda: second.get("pods")["items"])
    assert traces(second.name)
    second.winkube("down", "--name", second.name)
    assert traces(second.name) == []
    assert second.name not in second.kubeconfig.read_text()
