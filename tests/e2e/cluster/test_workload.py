"""What pods may ask for: environment, volumes, probes, init containers, users, restarts."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.harness import Cluster, eventually

pytestmark = pytest.mark.root

WINDOWS = {"kubernetes.io/os": "windows"}
SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2019"
BUSYBOX = "winkube.local/busybox"


@pytest.fixture
def space(cluster: Cluster) -> Iterator[str]:
    with cluster.namespace("work") as name:
        yield name


def pod(name: str, space: str, *, windows: bool, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": space},
        "spec": {"nodeSelector": WINDOWS if windows else {"kubernetes.io/os": "linux"}, **spec},
    }


def await_phase(cluster: Cluster, space: str, name: str, phase: str, *, seconds: float = 60) -> Any:
    def check() -> Any:
        found = cluster.get("pod", name, "-n", space)
        assert found["status"].get("phase") == phase, found["status"]
        return found

    return eventually(check, seconds=seconds)


def test_a_windows_pod_gets_configuration_by_variable_and_by_volume(
    cluster: Cluster, space: str
) -> None:
    secret = base64.b64encode(b"s3cret").decode()
    script = (
        "echo %GREETING%-%POD%-%LIMIT% & type C:\\config\\greeting & type C:\\secret\\key"
        " & echo written> C:\\scratch\\file & type C:\\scratch\\file"
    )
    container = {
        "name": "main",
        "image": SERVERCORE,
        "command": ["cmd", "/c", script],
        "resources": {"limits": {"cpu": "1", "memory": "200Mi"}},
        "env": [
            {
                "name": "GREETING",
                "valueFrom": {"configMapKeyRef": {"name": "c", "key": "greeting"}},
            },
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
        ],
        "volumeMounts": [
            {"name": "config", "mountPath": "C:\\config"},
            {"name": "secret", "mountPath": "C:/secret", "readOnly": True},
            {"name": "scratch", "mountPath": "/scratch"},
        ],
    }
    volumes = [
        {"name": "config", "configMap": {"name": "c"}},
        {"name": "secret", "secret": {"secretName": "s"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    meta = {"namespace": space}
    cluster.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **meta},
         "data": {"greeting": "hello"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", **meta},
         "data": {"key": secret}},
        pod("conf", space, windows=True, restartPolicy="Never", containers=[container],
            volumes=volumes),
    )  # fmt: skip
    await_phase(cluster, space, "conf", "Succeeded")
    out = cluster.kubectl("logs", "conf", "-n", space).stdout
    assert f"hello-conf-{200 << 20}" in out
    assert "s3cret" in out
    assert "written" in out


@pytest.mark.parametrize("windows", [False, True], ids=["linux", "windows"])
def test_init_containers_run_first_and_failures_are_told(
    cluster: Cluster, space: str, windows: bool
) -> None:
    image = SERVERCORE if windows else BUSYBOX
    shell = ["cmd", "/c"] if windows else ["sh", "-c"]
    mount = [{"name": "shared", "mountPath": "C:\\shared" if windows else "/shared"}]
    read = "type C:\\shared\\note & exit 7" if windows else "cat /shared/note; exit 7"
    write = "echo prepared> C:\\shared\\note" if windows else "echo prepared > /shared/note"
    cluster.apply(
        pod(
            "init", space, windows=windows, restartPolicy="Never",
            volumes=[{"name": "shared", "emptyDir": {}}],
            initContainers=[{"name": "first", "image": image, "command": [*shell, write],
                             "volumeMounts": mount}],
            containers=[{"name": "main", "image": image, "command": [*shell, read],
                         "volumeMounts": mount}],
        )
    )  # fmt: skip
    found = await_phase(cluster, space, "init", "Failed")
    assert "prepared" in cluster.kubectl("logs", "init", "-n", space).stdout
    [status] = found["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 7
    assert status["state"]["terminated"]["reason"] == "Error"


@pytest.mark.parametrize("windows", [False, True], ids=["linux", "windows"])
def test_a_crashing_container_is_restarted_with_back_off(
    cluster: Cluster, space: str, windows: bool
) -> None:
    image = SERVERCORE if windows else BUSYBOX
    command = ["cmd", "/c", "exit 1"] if windows else ["false"]
    container = {"name": "main", "image": image, "command": command}
    cluster.apply(pod("crash", space, windows=windows, containers=[container]))

    def crash_loops() -> bool:
        [status] = cluster.get("pod", "crash", "-n", space)["status"]["containerStatuses"]
        reason = status["state"].get("waiting", {}).get("reason")
        return bool(status["restartCount"] >= 1 and reason == "CrashLoopBackOff")

    assert eventually(crash_loops, seconds=60)
    events = cluster.kubectl("get", "events", "-n", space).stdout
    assert "BackOff" in events


def test_a_failing_liveness_probe_restarts_the_container(cluster: Cluster, space: str) -> None:
    container = {
        "name": "main",
        "image": BUSYBOX,
        "command": ["sleep", "1000"],
        "livenessProbe": {
            "exec": {"command": ["false"]},
            "periodSeconds": 1,
            "failureThreshold": 1,
        },
    }
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    cluster.apply(pod("sick", space, windows=False, **spec))
    status = eventually(
        lambda: cluster.get("pod", "sick", "-n", space)["status"]["containerStatuses"][0]
    )
    assert eventually(
        lambda: (
            cluster.get("pod", "sick", "-n", space)["status"]["containerStatuses"][0][
                "restartCount"
            ]
            >= 1
        )
    ), status


def test_a_windows_pod_may_name_its_user(cluster: Cluster, space: str) -> None:
    container = {"name": "main", "image": SERVERCORE, "command": ["whoami"]}
    context = {"windowsOptions": {"runAsUserName": "ContainerUser"}}
    spec = {"restartPolicy": "Never", "containers": [container], "securityContext": context}
    cluster.apply(pod("user", space, windows=True, **spec))
    await_phase(cluster, space, "user", "Succeeded")
    out = cluster.kubectl("logs", "user", "-n", space).stdout
    assert "containeruser" in out.lower()


def test_two_containers_of_a_windows_pod_share_their_network(cluster: Cluster, space: str) -> None:
    ask = {
        "name": "ask",
        "image": SERVERCORE,
        "command": ["cmd", "/c", "ping -n 3 127.0.0.1 >nul & curl -s http://localhost/"],
    }
    serve = {"name": "serve", "image": "mcr.microsoft.com/windows/servercore/iis"}
    cluster.apply(pod("pair", space, windows=True, containers=[serve, ask]))
    eventually(
        lambda: "IIS" in cluster.kubectl("logs", "pair", "-c", "ask", "-n", space).stdout,
        seconds=60,
    )
