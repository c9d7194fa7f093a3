"""The path a newcomer walks: nodes, IIS, exec, logs, services, scale."""

import socket
import subprocess
import urllib.request
from functools import partial
from pathlib import Path

import pytest
from tests.e2e.harness import Cluster, eventually, find_kubectls

pytestmark = pytest.mark.root


def node_address(cluster: Cluster, name: str) -> str:
    addresses = cluster.get("node", name)["status"]["addresses"]
    return next(str(a["address"]) for a in addresses if a["type"] == "InternalIP")


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return str(answer.read().decode())


def test_three_nodes_are_ready_and_say_which_windows_they_are(cluster: Cluster) -> None:
    nodes = {n["metadata"]["name"]: n for n in cluster.get("nodes")["items"]}
    assert set(nodes) == {"lin-1", "win-1", "win-2"}
    for node in nodes.values():
        [ready] = [c for c in node["status"]["conditions"] if c["type"] == "Ready"]
        assert ready["status"] == "True"
    info = nodes["win-1"]["status"]["nodeInfo"]
    assert info["osImage"] == "Windows Server 2019 Datacenter"
    assert info["kernelVersion"].startswith("10.0.17763.")
    assert info["operatingSystem"] == "windows"
    labels = nodes["win-2"]["metadata"]["labels"]
    assert labels["kubernetes.io/os"] == labels["beta.kubernetes.io/os"] == "windows"
    assert labels["node.kubernetes.io/windows-build"] == "10.0.17763"
    assert labels["winkube.io/emulated"] == "true"
    wide = cluster.kubectl("get", "nodes", "-o", "wide").stdout
    assert "KERNEL-VERSION" in wide
    assert "10.0.17763" in wide


def test_pods_run_on_both_windows_nodes_with_their_own_addresses(iis: Cluster) -> None:
    pods = iis.get("pods", "-l", "app=iis")["items"]
    assert len(pods) == 3
    assert {p["spec"]["nodeName"] for p in pods} == {"win-1", "win-2"}
    assert len({p["status"]["podIP"] for p in pods}) == 3


@pytest.mark.parametrize("node", ["win-1", "win-2", "lin-1"])
def test_the_page_answers_on_every_nodes_port(iis: Cluster, node: str) -> None:
    port = iis.get("service", "iis")["spec"]["ports"][0]["nodePort"]
    url = f"http://{node_address(iis, node)}:{port}/"
    page = eventually(lambda: fetch(url), seconds=20)
    assert "IIS" in page
    for _ in range(10):
        assert fetch(url) == page


@pytest.mark.parametrize("program", find_kubectls(), ids=lambda path: path.name)
def test_exec_runs_windows_programs(iis: Cluster, program: Path) -> None:
    cluster = Cluster(iis.name, iis.kubeconfig, program)
    assert "10.0.17763" in cluster.kubectl("exec", "deploy/iis", "--", "cmd", "/c", "ver").stdout


def test_exec_shows_who_and_where(iis: Cluster) -> None:
    out = iis.kubectl("exec", "deploy/iis", "--", "cmd", "/c", "set & whoami & hostname").stdout
    lines = out.replace("\r", "").splitlines()
    assert "KUBERNETES_SERVICE_HOST=10.96.0.1" in lines
    assert any(line.startswith("COMPUTERNAME=IIS-") for line in lines)
    assert any("containeradministrator" in line.lower() for line in lines)
    names = {p["metadata"]["name"].lower() for p in iis.get("pods", "-l", "app=iis")["items"]}
    assert lines[-1].lower() in names


def test_exec_passes_the_exit_code_and_standard_input(iis: Cluster) -> None:
    failed = iis.kubectl("exec", "deploy/iis", "--", "cmd", "/c", "exit 3", check=False)
    assert failed.returncode == 3
    words = iis.kubectl(
        "exec", "-i", "deploy/iis", "--", "cmd", stdin="echo from%OS%stdin\r\nexit\r\n"
    )
    assert "fromWindows_NTstdin" in words.stdout


def test_a_command_that_does_not_exist_is_said_in_windows_words(iis: Cluster) -> None:
    failed = iis.kubectl("exec", "deploy/iis", "--", "nosuch.exe", check=False)
    assert failed.returncode != 0
    assert "cannot find the file specified" in failed.stdout + failed.stderr


def test_powershell_says_that_it_is_not_there(iis: Cluster) -> None:
    words = ("powershell", "-Command", "Get-Date")
    done = iis.kubectl("exec", "deploy/iis", "--", *words, check=False)
    assert done.returncode == 1
    assert "has no PowerShell" in done.stderr


def test_logs_follow_live(iis: Cluster) -> None:
    pod = iis.get("pods", "-l", "app=iis")["items"][0]
    name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
    follower = iis.popen("logs", "-f", name)
    try:
        iis.kubectl("exec", name, "--", "curl", "-s", "http://localhost/seen-in-the-log")
        assert follower.stdout is not None
        for line in follower.stdout:
            if "seen-in-the-log" in line:
                break
        else:
            raise AssertionError(f"the log of {name} on {node} does not show the request")
    finally:
        follower.kill()
        follower.communicate()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    "program", find_kubectls()[:1] + find_kubectls()[-1:], ids=lambda p: p.name
)
def test_port_forward_reaches_the_pod(iis: Cluster, program: Path) -> None:
    port = free_port()
    cluster = Cluster(iis.name, iis.kubeconfig, program)
    forward = cluster.popen("port-forward", "deploy/iis", f"{port}:80")
    try:
        for _ in range(3):
            assert "IIS" in eventually(lambda: fetch(f"http://127.0.0.1:{port}/"), seconds=20)
    finally:
        forward.kill()
        forward.communicate()


def test_a_linux_pod_reaches_windows_pods_through_the_service(iis: Cluster) -> None:
    out = iis.kubectl(
        "run", "busy", "-i", "--rm", "--quiet", "--image=winkube.local/busybox", "--restart=Never",
        "--", "wget", "-qO-", "http://iis",
    ).stdout  # fmt: skip
    assert "IIS" in out


def test_a_windows_pod_reaches_the_service_by_its_dns_name(iis: Cluster) -> None:
    for name in ("iis.default.svc.cluster.local", "iis"):
        out = iis.kubectl("exec", "deploy/iis", "--", "curl", "-s", f"http://{name}").stdout
        assert "IIS" in out


def has_pods(cluster: Cluster, count: int) -> bool:
    return len(cluster.get("pods", "-l", "app=iis")["items"]) == count


def test_windows_own_tools_know_the_suffix_of_the_namespace(iis: Cluster) -> None:
    words = ("exec", "deploy/iis", "--")
    address = iis.get("svc", "iis")["spec"]["clusterIP"]
    found = iis.kubectl(*words, "nslookup", "iis").stdout
    assert f"Name:    iis.default.svc.cluster.local\nAddress:  {address}" in found.replace("\r", "")
    # Unlike Windows' resolver, its nslookup appends the suffix to names with a dot as well.
    record = iis.kubectl(*words, "nslookup", "-type=SRV", "_https._tcp.kubernetes").stdout
    assert "svr hostname   = kubernetes.default.svc.cluster.local" in record
    named = iis.kubectl(*words, "nslookup", address).stdout.replace("\r", "")
    assert f"Name:    iis.default.svc.cluster.local\nAddress:  {address}\n" in named
    settings = iis.kubectl(*words, "ipconfig", "/all").stdout
    assert "   DNS Suffix Search List. . . . . . : default.svc.cluster.local" in settings
    assert "   Connection-specific DNS Suffix  . : default.svc.cluster.local" in settings
    assert "   IPv4 Address. . . . . . . . . . . : 10.244." in settings


def test_scaling_up_and_down(iis: Cluster) -> None:
    for wanted in (6, 3):
        iis.kubectl("scale", "deploy/iis", f"--replicas={wanted}")
        iis.kubectl("rollout", "status", "deploy/iis", "--timeout=120s", timeout=130)
        eventually(partial(has_pods, iis, wanted))


def test_the_iis_program_is_a_windows_program(iis: Cluster) -> None:
    out = subprocess.run(
        [iis.program, "exec", "deploy/iis", "--", "cmd", "/c", "dir C:\\inetpub\\wwwroot"],
        env=iis.environment(), capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    assert "iisstart.htm" in out
