"""A cluster of two address families: Services reached by either, from pods, nodes and the host."""

import os
import urllib.request
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from tests.e2e.harness import Cluster, eventually, find_kubectls

pytestmark = pytest.mark.root

NODE_PORT = 30880
SERVE = 'mkdir /www; echo "$POD_IPS" > /www/index.html; exec httpd -f -h /www -p 80'
REGISTRY = "mcr.microsoft.com/windows"
IDLE = ("ping", "-t", "localhost")
BUILDS = {"ltsc2019": "10.0.17763", "ltsc2022": "10.0.20348"}
FILE = """
apiVersion: winkube.io/v1alpha1
kind: Cluster
networking: {ipFamily: dual}
nodes:
- {os: linux, count: 2}
- {os: windows, windowsVersion: ltsc2022}
- {os: windows, windowsVersion: ltsc2019}
"""


@pytest.fixture(scope="module")
def dual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two Linux nodes with a web server each, two Windows nodes with IIS, Services and visitors."""
    name = f"{os.environ.get('WINKUBE_TEST_CLUSTER', 'e2e')}-d"
    folder = tmp_path_factory.mktemp("dual")
    made = Cluster(name, folder / "config", find_kubectls()[-1])
    (folder / "cluster.yaml").write_text(FILE)
    both = {"ipFamilyPolicy": "RequireDualStack"}
    try:
        made.winkube("up", "--name", name, "-f", str(folder / "cluster.yaml"))
        eventually(lambda: made.get("serviceaccount", "default"))
        made.apply(
            _web(),
            _service("web", type="NodePort", **both),
            _service("headless", clusterIP="None", ipFamilyPolicy="PreferDualStack"),
            _service("single"),
            _service("iis", selector={"app": "iis"}, **both),
            _windows("iis", "servercore/iis:windowsservercore-ltsc2022", "ltsc2022"),
            *(_windows(version, f"servercore:{version}", version, *IDLE) for version in BUILDS),
        )
        made.kubectl("rollout", "status", "daemonset/web", "--timeout=120s", timeout=130)
        ready = ("--for=condition=Ready", "pod", "--all", "--timeout=120s")
        made.kubectl("wait", *ready, timeout=130)
        yield made
    finally:
        made.winkube("down", "--name", name)


def _windows(name: str, image: str, version: str, *command: str) -> dict[str, Any]:
    container = {"name": "main", "image": f"{REGISTRY}/{image}"}
    place = {"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": BUILDS[version]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "nodeSelector": place,
            "containers": [container | ({"command": list(command)} if command else {})],
        },
    }


def _web() -> dict[str, Any]:
    addresses = {"fieldRef": {"fieldPath": "status.podIPs"}}
    server = {
        "name": "web",
        "image": "winkube.local/busybox",
        "command": ["sh", "-c", SERVE],
        "env": [{"name": "POD_IPS", "valueFrom": addresses}],
        "readinessProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 1},
    }
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"nodeSelector": {"kubernetes.io/os": "linux"}, "containers": [server]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def _service(name: str, **spec: Any) -> dict[str, Any]:
    port = {"port": 80} | ({"nodePort": NODE_PORT} if spec.get("type") == "NodePort" else {})
    spec = {"selector": {"app": "web"}, "ports": [port], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def _pods(cluster: Cluster) -> list[dict[str, Any]]:
    pods: list[dict[str, Any]] = cluster.get("pods", "-l", "app=web")["items"]
    return pods


def _ips(listed: list[dict[str, str]]) -> list[str]:
    return [entry["ip"] for entry in listed]


def _host(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip


def _fetch(cluster: Cluster, pod: str, host: str) -> str:
    """What the web server there says: the addresses of the pod that answers."""
    argv = ("exec", pod, "--", "wget", "-q", "-O", "-", f"http://{_host(host)}:80/")
    return cluster.kubectl(*argv, timeout=20).stdout.strip()


def _meets(cluster: Cluster, pod: str, host: str, everybody: set[str]) -> bool:
    return {_fetch(cluster, pod, host) for _ in range(6)} == everybody


def _families(ips: list[str]) -> list[bool]:
    return [":" in ip for ip in ips]


def test_nodes_have_addresses_and_pod_ranges_of_both_families(dual: Cluster) -> None:
    for node in dual.get("nodes")["items"]:
        listed = node["status"]["addresses"]
        internal = [entry["address"] for entry in listed if entry["type"] == "InternalIP"]
        assert _families(internal) == [False, True]
        assert _families(node["spec"]["podCIDRs"]) == [False, True]


def test_pods_and_their_services_have_addresses_of_both_families(dual: Cluster) -> None:
    for pod in _pods(dual):
        assert _families(_ips(pod["status"]["podIPs"])) == [False, True]
        assert _families(_ips(pod["status"]["hostIPs"])) == [False, True]
        hosts = dual.kubectl("exec", pod["metadata"]["name"], "--", "cat", "/etc/hosts").stdout
        assert all(ip in hosts for ip in _ips(pod["status"]["podIPs"]))
    assert _families(dual.get("service", "web")["spec"]["clusterIPs"]) == [False, True]
    assert _families(dual.get("service", "single")["spec"]["clusterIPs"]) == [False]


@pytest.mark.parametrize("family", [0, 1], ids=["IPv4", "IPv6"])
def test_linux_pods_of_every_node_are_reached_by_either_family(dual: Cluster, family: int) -> None:
    pods = _pods(dual)
    everybody = {",".join(_ips(pod["status"]["podIPs"])) for pod in pods}
    service = dual.get("service", "web")["spec"]["clusterIPs"][family]
    for pod in pods:
        name = pod["metadata"]["name"]
        for other in pods:
            ips = _ips(other["status"]["podIPs"])
            assert _fetch(dual, name, ips[family]) == ",".join(ips)
        # Both backends in turn: on this node, behind hairpin and masquerade, and on the other.
        eventually(partial(_meets, dual, name, service, everybody))


def test_names_have_records_of_both_families(dual: Cluster) -> None:
    pods, service = _pods(dual), dual.get("service", "web")["spec"]["clusterIPs"]
    expected = {
        "web": [[service[0]], [service[1]]],
        "headless": [[_ips(pod["status"]["podIPs"])[i] for pod in pods] for i in (0, 1)],
    }
    inside = ("exec", pods[0]["metadata"]["name"], "--", "nslookup")
    for name, (four, six) in expected.items():
        whole = f"{name}.default.svc.cluster.local"
        assert all(ip in dual.kubectl(*inside, "-type=a", whole).stdout for ip in four)
        assert all(ip in dual.kubectl(*inside, "-type=aaaa", whole).stdout for ip in six)


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return str(answer.read().decode())


def test_a_node_port_answers_at_both_addresses_of_a_node(dual: Cluster) -> None:
    for node in dual.get("nodes")["items"]:
        listed = node["status"]["addresses"]
        internal = [entry["address"] for entry in listed if entry["type"] == "InternalIP"]
        # The HNS of Windows Server 2019 has no IPv6, and its kube-proxy makes none of it.
        old = node["metadata"]["labels"].get("node.kubernetes.io/windows-build")
        for ip in internal[: 1 if old == BUILDS["ltsc2019"] else 2]:
            assert "fd00:" in _read(f"http://{_host(ip)}:{NODE_PORT}/")


def test_a_load_balancer_has_an_address_of_each_family(dual: Cluster) -> None:
    spec = {"ipFamilyPolicy": "PreferDualStack", "ports": [{"port": 8088, "targetPort": 80}]}
    dual.apply(_service("public", type="LoadBalancer", **spec))

    def ingress() -> list[str]:
        return _ips(dual.get("service", "public")["status"]["loadBalancer"]["ingress"])

    found = eventually(ingress)
    assert _families(found) == [False, True]
    for ip in found:
        url = f"http://{_host(ip)}:8088/"
        assert "fd00:" in eventually(partial(_read, url), seconds=20)


def _curl(cluster: Cluster, pod: str, host: str) -> str:
    argv = ("exec", pod, "--", "curl", "-s", "--max-time", "5", f"http://{_host(host)}/")
    return cluster.kubectl(*argv).stdout


@pytest.mark.parametrize("family", [0, 1], ids=["IPv4", "IPv6"])
def test_pods_of_windows_2022_reach_and_are_reached_by_either_family(
    dual: Cluster, family: int
) -> None:
    web = dual.get("service", "web")["spec"]["clusterIPs"][family]
    iis = dual.get("service", "iis")["spec"]["clusterIPs"][family]
    pod = _ips(dual.get("pod", "iis")["status"]["podIPs"])[family]
    assert "fd00:" in eventually(lambda: _curl(dual, "ltsc2022", web))
    linux = _pods(dual)[0]
    assert "fd00:" in _curl(dual, "ltsc2022", _ips(linux["status"]["podIPs"])[family])
    for host in (iis, pod):
        # From a neighbour, from the pod itself, and from another node.
        assert "IIS" in eventually(partial(_curl, dual, "ltsc2022", host))
        assert "IIS" in eventually(partial(_curl, dual, "iis", host))
        assert "IIS" in _fetch(dual, linux["metadata"]["name"], host)


def test_pods_of_windows_2019_have_ipv4_alone(dual: Cluster) -> None:
    assert _families(_ips(dual.get("pod", "ltsc2019")["status"]["podIPs"])) == [False]
    assert _families(_ips(dual.get("pod", "ltsc2022")["status"]["podIPs"])) == [False, True]
    address = dual.get("service", "web")["spec"]["clusterIPs"][0]
    for host in (address, "web"):
        assert "fd00:" in eventually(partial(_curl, dual, "ltsc2019", host))


def test_a_cluster_keeps_its_families(dual: Cluster) -> None:
    assert "ready" in dual.winkube("up", "--name", dual.name).stdout
    other = dual.winkube("up", "--name", dual.name, "--ip-family", "ipv4", check=False)
    assert other.returncode == 1
    assert "two address families" in other.stderr
    wrong = dual.winkube("up", "--name", dual.name, "--ip-family", "ipv6", check=False)
    assert "must be one of ipv4, dual" in wrong.stderr
