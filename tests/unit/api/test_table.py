from typing import Any

import pytest

from winkube.api.kinds import KINDS, Kind
from winkube.api.printing.age import human_duration
from winkube.api.table import columns, row_conditions, to_row
from winkube.base.clock import to_rfc3339

NOW = 1_700_000_000.0


class FixedClock:
    def now(self) -> float:
        return NOW

    def monotonic(self) -> float:
        return NOW


def kind(name: str, group: str = "", version: str = "v1") -> Kind:
    found = KINDS.by_gvk(group, version, name)
    assert found is not None
    return found


def meta(name: str = "a", seconds: float = 300, **more: Any) -> dict[str, Any]:
    return {"name": name, "creationTimestamp": to_rfc3339(NOW - seconds), **more}


def row(entry: Kind, obj: dict[str, Any], *, wide: bool = False) -> dict[str, Any]:
    cells = to_row(entry, obj, FixedClock())
    heads = columns(entry)
    assert len(cells) == len(heads)
    return {
        head["name"]: cell
        for head, cell in zip(heads, cells, strict=True)
        if wide or head["priority"] == 0
    }


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"),
        (599, "9m59s"), (600, "10m"), (10799, "179m"), (10800, "3h"), (11000, "3h3m"),
        (28799, "7h59m"), (28800, "8h"), (172799, "47h"), (172800, "2d"), (180000, "2d2h"),
        (691200, "8d"), (86400 * 400, "400d"), (86400 * 800, "2y70d"), (86400 * 365 * 9, "9y"),
    ],
)  # fmt: skip
def test_durations_read_as_kubectl_writes_them(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def status(*containers: dict[str, Any], phase: str = "Running", **more: Any) -> dict[str, Any]:
    return {"phase": phase, "containerStatuses": list(containers), **more}


RUNNING = {"ready": True, "state": {"running": {}}, "restartCount": 0}
CRASHED = {
    "ready": False,
    "restartCount": 3,
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"finishedAt": to_rfc3339(NOW - 60)}},
}
EXITED = {"state": {"terminated": {"exitCode": 3}}}
DONE = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
KILLED = {"state": {"terminated": {"exitCode": 137, "signal": 9}}}


@pytest.mark.parametrize(
    ("obj_status", "ready", "text", "restarts"),
    [
        ({"phase": "Pending"}, "0/2", "Pending", "0"),
        (status(RUNNING, RUNNING), "2/2", "Running", "0"),
        (status(RUNNING, CRASHED), "1/2", "CrashLoopBackOff", "3 (60s ago)"),
        (status(EXITED, phase="Failed"), "0/2", "ExitCode:3", "0"),
        (status(KILLED, phase="Failed"), "0/2", "Signal:9", "0"),
        (status(DONE, phase="Succeeded"), "0/2", "Completed", "0"),
        (status(DONE, RUNNING), "1/2", "NotReady", "0"),
        (status(phase="Failed", reason="Evicted"), "0/2", "Evicted", "0"),
        (
            status(phase="Pending", initContainerStatuses=[{"state": {"running": {}}}]),
            "0/2", "Init:0/1", "0",
        ),
        (
            status(
                phase="Pending",
                initContainerStatuses=[{"state": {"waiting": {"reason": "ImagePullBackOff"}}}],
            ),
            "0/2", "Init:ImagePullBackOff", "0",
        ),
        (
            status(
                phase="Pending",
                initContainerStatuses=[{"state": {"terminated": {"exitCode": 1}}}],
            ),
            "0/2", "Init:ExitCode:1", "0",
        ),
        (
            {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}],
            },
            "0/2", "SchedulingGated", "0",
        ),
    ],
)  # fmt: skip
def test_pod_status_in_a_word(
    obj_status: dict[str, Any], ready: str, text: str, restarts: str
) -> None:
    spec = {"containers": [{}, {}], "initContainers": [{"name": "i"}]}
    found = row(kind("Pod"), {"metadata": meta(), "spec": spec, "status": obj_status})
    assert (found["Ready"], found["Status"], found["Restarts"]) == (ready, text, restarts)
    assert found["Age"] == "5m"


def test_a_pod_being_deleted_is_terminating_unless_it_is_over() -> None:
    deleting = meta(deletionTimestamp=to_rfc3339(NOW))
    pod = {"metadata": deleting, "spec": {}, "status": status(RUNNING)}
    assert row(kind("Pod"), pod)["Status"] == "Terminating"
    over = {"metadata": deleting, "spec": {}, "status": status(DONE, phase="Succeeded")}
    assert row(kind("Pod"), over)["Status"] == "Completed"
    lost = {"metadata": deleting, "spec": {}, "status": {"phase": "Running", "reason": "NodeLost"}}
    assert row(kind("Pod"), lost)["Status"] == "Unknown"


def test_wide_pods_show_where_they_run() -> None:
    pod = {
        "metadata": meta(),
        "spec": {"nodeName": "win-1", "readinessGates": [{"conditionType": "x"}]},
        "status": {"phase": "Running", "podIPs": [{"ip": "10.244.1.2"}]},
    }
    found = row(kind("Pod"), pod, wide=True)
    assert (found["IP"], found["Node"]) == ("10.244.1.2", "win-1")
    assert (found["Nominated Node"], found["Readiness Gates"]) == ("<none>", "0/1")


def test_only_finished_pods_have_a_row_condition() -> None:
    pod = {"metadata": meta(), "status": {"phase": "Succeeded"}}
    assert row_conditions(kind("Pod"), pod)[0]["reason"] == "Succeeded"
    assert row_conditions(kind("Pod"), {"metadata": meta(), "status": {"phase": "Running"}}) == []
    assert row_conditions(kind("Node"), {"metadata": meta()}) == []


def test_a_windows_node() -> None:
    node = {
        "metadata": meta("win-1", labels={"node-role.kubernetes.io/worker": ""}),
        "spec": {"unschedulable": True},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "172.30.0.11"}],
            "nodeInfo": {
                "kubeletVersion": "v1.34.0",
                "osImage": "Windows Server 2019 Datacenter",
                "kernelVersion": "10.0.17763.1",
                "containerRuntimeVersion": "winkube://0.1",
            },
        },
    }
    assert row(kind("Node"), node, wide=True) == {
        "Name": "win-1",
        "Status": "Ready,SchedulingDisabled",
        "Roles": "worker",
        "Age": "5m",
        "Version": "v1.34.0",
        "Internal-IP": "172.30.0.11",
        "External-IP": "<none>",
        "OS-Image": "Windows Server 2019 Datacenter",
        "Kernel-Version": "10.0.17763.1",
        "Container-Runtime": "winkube://0.1",
    }


def test_services_by_type() -> None:
    ports = [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]
    spec = {"type": "NodePort", "clusterIP": "10.96.0.7", "ports": ports, "selector": {"a": "b"}}
    found = row(kind("Service"), {"metadata": meta(), "spec": spec}, wide=True)
    assert found["Port(s)"] == "80:30080/TCP,53/UDP"
    assert (found["Cluster-IP"], found["External-IP"]) == ("10.96.0.7", "<none>")
    assert found["Selector"] == "a=b"
    pending = {"metadata": meta(), "spec": {**spec, "type": "LoadBalancer"}}
    assert row(kind("Service"), pending)["External-IP"] == "<pending>"
    given = {**pending, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}
    assert row(kind("Service"), given)["External-IP"] == "1.2.3.4"
    named = {"metadata": meta(), "spec": {"type": "ExternalName", "externalName": "example.com"}}
    assert row(kind("Service"), named)["External-IP"] == "example.com"


def test_workloads() -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    done = {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 2, "replicas": 3}
    obj = {"metadata": meta(), "spec": spec, "status": done}
    deployment = row(kind("Deployment", "apps"), obj, wide=True)
    assert (deployment["Ready"], deployment["Up-to-date"]) == ("2/3", 3)
    assert (deployment["Containers"], deployment["Images"]) == ("c", "i")
    assert deployment["Selector"] == "app=a"
    replicas = row(kind("ReplicaSet", "apps"), obj)
    assert (replicas["Desired"], replicas["Current"], replicas["Ready"]) == (3, 3, 2)


def test_jobs() -> None:
    start = {"startTime": to_rfc3339(NOW - 90)}
    spec = {"completions": 2}
    job = {"metadata": meta(), "spec": spec, "status": {**start, "succeeded": 1}}
    found = row(kind("Job", "batch"), job)
    assert (found["Status"], found["Completions"], found["Duration"]) == ("Running", "1/2", "90s")
    ended = {"completionTime": to_rfc3339(NOW - 60), "succeeded": 2}
    conditions = {"conditions": [{"type": "Complete", "status": "True"}]}
    over = {"metadata": meta(), "spec": spec, "status": {**start, **ended, **conditions}}
    found = row(kind("Job", "batch"), over)
    assert (found["Status"], found["Duration"]) == ("Complete", "30s")


def test_events() -> None:
    event = {
        "metadata": meta("e"),
        "type": "Normal",
        "reason": "Pulled",
        "message": "image \n",
        "involvedObject": {"kind": "Pod", "name": "a"},
        "source": {"component": "kubelet", "host": "win-1"},
        "firstTimestamp": to_rfc3339(NOW - 100),
        "lastTimestamp": to_rfc3339(NOW - 10),
        "count": 4,
    }
    found = row(kind("Event"), event, wide=True)
    assert (found["Last Seen"], found["First Seen"], found["Count"]) == ("10s", "100s", 4)
    assert (found["Object"], found["Source"]) == ("pod/a", "kubelet, win-1")
    assert found["Message"] == "image"


def test_endpoint_slices_show_three_and_count_the_rest() -> None:
    obj = {
        "metadata": meta(),
        "addressType": "IPv4",
        "ports": [{"port": 80}, {"name": "x"}],
        "endpoints": [{"addresses": [f"10.0.0.{n}"]} for n in range(5)],
    }
    found = row(kind("EndpointSlice", "discovery.k8s.io"), obj)
    assert found["Ports"] == "80,x"
    assert found["Endpoints"] == "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more..."


def test_every_kind_prints_an_empty_object() -> None:
    for entry in KINDS.all():
        cells = to_row(entry, {"metadata": {"name": "a"}}, FixedClock())
        extra = entry.kind == "IPAddress"  # upstream's row has an age, its columns have none
        assert len(cells) == len(columns(entry)) + extra, entry.kind


def test_column_types() -> None:
    heads = {head["name"]: head for head in columns(kind("ReplicaSet", "apps"))}
    assert heads["Name"]["format"] == "name"
    assert heads["Desired"]["type"] == "integer"
    assert heads["Selector"]["priority"] == 1
