"""kubectl's everyday commands on Linux and Windows pods, at a terminal too."""

import io
import json
import os
import pty
import re
import select
import subprocess
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.e2e.harness import Cluster, eventually, find_kubectls

pytestmark = pytest.mark.root

SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2019"
BUSYBOX = "winkube.local/busybox"
CTRL_C = "\x03"
# Where the cursor goes and what the window is called: a console may move it for every letter.
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


@pytest.fixture(scope="module")
def pods(cluster: Cluster) -> Iterator[Cluster]:
    """A pod of each operating system; neither says where it wants to run, its image does."""
    cluster.kubectl("run", "lin", f"--image={BUSYBOX}", "--", "sleep", "1000000")
    cluster.kubectl("run", "win", f"--image={SERVERCORE}", "--", "ping", "-t", "localhost")
    try:
        cluster.kubectl("wait", "--for=condition=Ready", "pod/lin", "pod/win", "--timeout=60s")
        yield cluster
    finally:
        cluster.kubectl("delete", "pod", "lin", "win", "--now", "--ignore-not-found")


def type_at_terminal(
    cluster: Cluster, args: Sequence[str], dialogue: Sequence[tuple[str, str]]
) -> tuple[str, int]:
    """Await each text on a terminal, then type the answer; what was seen, and the exit code."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [cluster.program, *args],
        env={**cluster.environment(), "TERM": "xterm"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    seen, position = "", 0
    try:
        for awaited, answer in dialogue:
            while (found := ESCAPES.sub("", seen).find(awaited, position)) < 0:
                seen += _read(controller, seen)
            position = found + len(awaited)
            os.write(controller, answer.encode())
        deadline = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < deadline:
            seen += _read(controller, seen, seconds=0.1, must=False)
        return seen, process.wait(timeout=5)
    finally:
        process.kill()
        process.wait()
        os.close(controller)


def _read(controller: int, seen: str, *, seconds: float = 20, must: bool = True) -> str:
    ready, _, _ = select.select([controller], [], [], seconds)
    if not ready:
        assert not must, f"nothing more came after: {seen[-300:]!r}"
        return ""
    try:
        return os.read(controller, 65536).decode(errors="replace")
    except OSError:  # the other side hung up
        assert not must, f"it ended after: {seen[-300:]!r}"
        return ""


def test_pods_go_where_their_image_runs(pods: Cluster) -> None:
    places = {p["metadata"]["name"]: p["spec"]["nodeName"] for p in pods.get("pods")["items"]}
    assert places["lin"].startswith("lin-")
    assert places["win"].startswith("win-")


def test_cmd_is_interactive_on_a_windows_pod(pods: Cluster) -> None:
    dialogue = [
        ("C:\\>", "echo seen-%OS%\r"),
        ("seen-Windows_NT", ""),
        ("C:\\>", "ping -n 100 127.0.0.1\r"),
        ("TTL=", CTRL_C),
        ("C:\\>", "exit 6\r"),
    ]
    seen, code = type_at_terminal(pods, ["exec", "-it", "win", "--", "cmd"], dialogue)
    assert code == 6, seen


def test_a_shell_in_a_new_linux_pod_is_interactive(pods: Cluster) -> None:
    args = ["run", "-it", "--rm", "shell", f"--image={BUSYBOX}", "--restart=Never", "--", "sh"]
    seen, code = type_at_terminal(
        pods, args, [("#", "echo seen-$((40+2))\r"), ("seen-42", "exit 5\r")]
    )
    assert code == 5, seen
    assert 'pod "shell" deleted' in seen


def test_debug_adds_a_container_to_a_running_pod(pods: Cluster) -> None:
    args = ["debug", "lin", "-it", f"--image={BUSYBOX}", "-c", "tool", "--target=lin", "--", "sh"]
    seen, code = type_at_terminal(pods, args, [("#", "ps\r"), ("sleep 1000000", "exit\r")])
    assert code == 0, seen
    [status] = pods.get("pod", "lin")["status"]["ephemeralContainerStatuses"]
    assert status["name"] == "tool"


@pytest.mark.parametrize("program", find_kubectls()[::3], ids=lambda path: path.name)
@pytest.mark.parametrize("pod", ["lin", "win"])
def test_files_are_copied_both_ways(pods: Cluster, pod: str, program: Path, tmp_path: Path) -> None:
    cluster = Cluster(pods.name, pods.kubeconfig, program)
    there, back = tmp_path / "there", tmp_path / "back"
    (there / "deep" / ("x" * 120)).mkdir(parents=True)
    (there / "bytes").write_bytes(bytes(range(256)) * 1024)
    (there / "deep" / ("x" * 120) / "grüße").write_text("hello")
    cluster.kubectl("cp", str(there), f"{pod}:/{program.name}")
    cluster.kubectl("cp", f"{pod}:/{program.name}", str(back))
    files = [path.relative_to(there) for path in there.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert all((back / file).read_bytes() == (there / file).read_bytes() for file in files)


def test_an_archive_cannot_reach_out_of_its_folder(pods: Cluster) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in ("../up", "a/../../up", "..\\up", "C:\\up", "/inside"):
            entry = tarfile.TarInfo(name)
            entry.size = 1
            archive.addfile(entry, io.BytesIO(b"x"))
    pods.kubectl("exec", "win", "--", "cmd", "/c", "mkdir C:\\box")
    done = subprocess.run(
        [pods.program, "exec", "-i", "win", "--", "tar", "-xmf", "-", "-C", "C:\\box"],
        env=pods.environment(), input=stream.getvalue(), capture_output=True, timeout=30,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count(b"leads out of the folder") == 4
    assert pods.kubectl("exec", "win", "--", "cmd", "/c", "dir /b C:\\box").stdout.split() == [
        "inside"
    ]
    assert "up" not in pods.kubectl("exec", "win", "--", "cmd", "/c", "dir /b C:\\").stdout.split()


def test_logs_know_their_end_and_their_past(pods: Cluster) -> None:
    script = "echo first; sleep 1; echo last; exit 3"
    pods.kubectl(
        "run", "ends", f"--image={BUSYBOX}", "--restart=Never", "--", "sh", "-c", script
    )  # fmt: skip
    pods.kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/ends", "--timeout=30s")
    assert pods.kubectl("logs", "-f", "ends", timeout=30).stdout == "first\nlast\n"
    stamped = pods.kubectl("logs", "--timestamps", "--tail=1", "ends").stdout
    stamp, text = stamped.split()
    assert (stamp[-1], text) == ("Z", "last")
    done = pods.kubectl("logs", "--previous", "ends", check=False)
    assert 'previous terminated container "ends" in pod "ends" not found' in done.stderr
    pods.kubectl("delete", "pod", "ends", "--now")


def test_a_deployment_is_patched_edited_and_rolled_back(cluster: Cluster) -> None:
    labels = {"app": "d"}
    container = {"name": "d", "image": BUSYBOX, "command": ["sleep", "1000000"]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    template = {"metadata": {"labels": labels}, "spec": spec}
    cluster.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d"},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        }
    )
    try:
        cluster.kubectl("patch", "deploy/d", "-p", '{"spec":{"replicas":2}}')
        ops = [{"op": "add", "path": "/spec/template/metadata/annotations", "value": {"a": "b"}}]
        cluster.kubectl("patch", "deploy/d", "--type=json", "-p", json.dumps(ops))
        scale = ("--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":1}}')
        cluster.kubectl("patch", "deploy/d", *scale)
        editing = {**cluster.environment(), "EDITOR": "sed -i 's/1000000/2000000/'"}
        subprocess.run(
            [cluster.program, "edit", "deploy/d"], env=editing, check=True, capture_output=True
        )
        cluster.kubectl("rollout", "status", "deploy/d", "--timeout=60s")
        cluster.kubectl("rollout", "undo", "deploy/d")
        cluster.kubectl("rollout", "status", "deploy/d", "--timeout=60s")
        [container] = cluster.get("deploy", "d")["spec"]["template"]["spec"]["containers"]
        assert container["command"] == ["sleep", "1000000"]
        assert "4" in cluster.kubectl("rollout", "history", "deploy/d").stdout
    finally:
        cluster.kubectl("delete", "deploy", "d", "--cascade=foreground", "--timeout=60s")


def test_a_drained_node_is_empty_and_comes_back(cluster: Cluster) -> None:
    pinned = {"spec": {"nodeName": "win-2", "terminationGracePeriodSeconds": 0}}
    cluster.kubectl(
        "run", "pinned", f"--image={SERVERCORE}", f"--overrides={json.dumps(pinned)}",
        "--", "ping", "-t", "localhost",
    )  # fmt: skip
    cluster.kubectl("wait", "--for=condition=Ready", "pod/pinned", "--timeout=60s")
    try:
        cluster.kubectl("drain", "win-2", "--force", "--timeout=60s", "--pod-selector=run=pinned")
        assert "SchedulingDisabled" in cluster.kubectl("get", "node", "win-2").stdout
        assert cluster.kubectl("get", "pod", "pinned", check=False).returncode == 1
    finally:
        cluster.kubectl("uncordon", "win-2")


def test_every_component_is_well(cluster: Cluster) -> None:
    found = {each["metadata"]["name"]: each for each in cluster.get("componentstatuses")["items"]}
    assert set(found) == {"scheduler", "controller-manager", "etcd-0"}
    for each in found.values():
        assert each["conditions"] == [{"message": "ok", "status": "True", "type": "Healthy"}]


def test_controllers_and_scheduler_hold_their_leases(cluster: Cluster) -> None:
    def renewals() -> dict[str, str]:
        found = cluster.get("lease", "-n", "kube-system")["items"]
        return {each["metadata"]["name"]: each["spec"]["renewTime"] for each in found}

    before = renewals()
    assert set(before) >= {"kube-controller-manager", "kube-scheduler"}
    eventually(lambda: all(time != before.get(name) for name, time in renewals().items()))


def test_node_ports_that_cannot_be_had_are_explained(cluster: Cluster) -> None:
    create = ("create", "service", "nodeport")
    cluster.kubectl(*create, "first", "--tcp=80", "--node-port=32123")
    try:
        taken = cluster.kubectl(*create, "second", "--tcp=80", "--node-port=32123", check=False)
        assert (
            "spec.ports[0].nodePort: Invalid value: 32123: provided port is already allocated"
            in taken.stderr
        )
        outside = cluster.kubectl(*create, "third", "--tcp=80", "--node-port=80", check=False)
        assert "The range of valid ports is 30000-32767" in outside.stderr
    finally:
        cluster.kubectl("delete", "service", "first")


def test_the_kubernetes_service_comes_back(cluster: Cluster) -> None:
    address = cluster.get("service", "kubernetes")["spec"]["clusterIP"]
    cluster.kubectl("delete", "service", "kubernetes")
    found = eventually(lambda: cluster.get("service", "kubernetes"), seconds=15)
    assert found["spec"]["clusterIP"] == address
