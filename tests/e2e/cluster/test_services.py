"""Every type of Service in front of Windows pods, as pods of both systems and variables see it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.harness import EXAMPLES, Cluster, eventually

pytestmark = pytest.mark.root

NAME = "services"
SPECS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sticky": {"sessionAffinity": "ClientIP"},
    "headless": {"clusterIP": "None"},
    "port": {"type": "NodePort"},
    "balanced": {"type": "LoadBalancer"},
    "local": {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
}
ALIAS = {"type": "ExternalName", "externalName": f"plain.{NAME}.svc.cluster.local"}
SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2019"
COMMANDS = {
    "windows": "curl -s --max-time 5 http://{}/",
    "linux": "wget -q -O - http://{}/",
}


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def services(cluster: Cluster) -> Iterator[Cluster]:
    """IIS behind a Service of each type, and a visitor of each system that came after them."""
    ports = [{"name": "http", "port": 80}]
    selected = {"selector": {"app": "iis"}, "ports": ports}
    made = [service(name, **selected, **spec) for name, spec in SPECS.items()]
    made.append(service("alias", **ALIAS))
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": made})
    with cluster.namespace(NAME):
        cluster.kubectl("apply", "-n", NAME, "-f", str(EXAMPLES / "iis"))
        cluster.kubectl("apply", "-n", NAME, "-f", "-", stdin=items)
        run = ("run", "-n", NAME, "--restart=Never")
        cluster.kubectl(*run, "windows", f"--image={SERVERCORE}", "--", "ping", "-t", "localhost")
        cluster.kubectl(*run, "linux", "--image=winkube.local/busybox", "--", "sleep", "1000000")
        ready = ("--for=condition=Ready", "pod", "--all", "-n", NAME, "--timeout=120s")
        cluster.kubectl("wait", *ready, timeout=130)
        yield cluster


def within(cluster: Cluster, pod: str, command: str) -> str:
    return cluster.kubectl("exec", "-n", NAME, pod, "--", *command.split()).stdout


@pytest.mark.parametrize("pod", COMMANDS)
@pytest.mark.parametrize("name", [*SPECS, "alias"])
def test_windows_pods_answer_by_the_name_of_their_service(
    services: Cluster, pod: str, name: str
) -> None:
    assert "IIS" in eventually(lambda: within(services, pod, COMMANDS[pod].format(name)))


@pytest.mark.parametrize("name", ["balanced", "local"])
def test_windows_pods_answer_at_the_address_of_their_load_balancer(
    services: Cluster, name: str
) -> None:
    found = services.get("service", name, "-n", NAME)["status"]["loadBalancer"]["ingress"][0]["ip"]
    assert "IIS" in eventually(lambda: within(services, "windows", f"curl -s http://{found}/"))


def test_the_name_of_a_headless_service_stands_for_its_windows_pods(services: Cluster) -> None:
    pods = services.get("pods", "-l", "app=iis", "-n", NAME)["items"]
    said = within(services, "windows", "nslookup headless")
    assert all(pod["status"]["podIP"] in said for pod in pods), said
    assert services.get("service", "plain", "-n", NAME)["spec"]["clusterIP"] not in said


def test_a_windows_pod_finds_services_in_its_variables(services: Cluster) -> None:
    said = within(services, "windows", "cmd /c set").splitlines()
    seen = dict(line.partition("=")[::2] for line in said if "=" in line)
    address = services.get("service", "plain", "-n", NAME)["spec"]["clusterIP"]
    expected = {
        "PLAIN_SERVICE_HOST": address,
        "PLAIN_SERVICE_PORT": "80",
        "PLAIN_SERVICE_PORT_HTTP": "80",
        "PLAIN_PORT": f"tcp://{address}:80",
        "PLAIN_PORT_80_TCP": f"tcp://{address}:80",
        "PLAIN_PORT_80_TCP_PROTO": "tcp",
        "PLAIN_PORT_80_TCP_PORT": "80",
        "PLAIN_PORT_80_TCP_ADDR": address,
    }
    assert {name: seen.get(name) for name in expected} == expected
    # Neither has an address of its own; those of other namespaces are not told, but for the API's.
    assert not [name for name in seen if name.startswith(("HEADLESS_", "ALIAS_", "KUBE_DNS_"))]
    assert seen["KUBERNETES_SERVICE_HOST"] == "10.96.0.1"
