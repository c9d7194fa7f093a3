"""Every kind of workload on Windows nodes: each ends up as upstream would have it."""

import json
from typing import Any

import pytest
from tests.e2e.harness import Cluster, eventually

pytestmark = pytest.mark.root

SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2019"
WINDOWS = {"kubernetes.io/os": "windows"}


def template(name: str, **container: Any) -> dict[str, Any]:
    spec = {
        "nodeSelector": WINDOWS,
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": SERVERCORE, **container}],
    }
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def workload(api: str, kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def test_a_stateful_set_keeps_its_data_over_its_pods(cluster: Cluster) -> None:
    script = "echo started>> C:\\data\\log & type C:\\data\\log & ping -t localhost >nul"
    mount = [{"name": "data", "mountPath": "C:\\data"}]
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Mi"}}}
    cluster.apply(
        workload(
            "apps/v1", "StatefulSet", "db", replicas=2, serviceName="db",
            selector={"matchLabels": {"app": "db"}},
            template=template("db", command=["cmd", "/c", script], volumeMounts=mount),
            volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": claim}],
        )
    )  # fmt: skip
    try:
        cluster.kubectl("rollout", "status", "sts/db", "--timeout=90s")
        cluster.kubectl("delete", "pod", "db-0")
        cluster.kubectl("rollout", "status", "sts/db", "--timeout=90s")
        eventually(lambda: cluster.kubectl("logs", "db-0").stdout.count("started") == 2)
    finally:
        cluster.kubectl("delete", "sts", "db")
        cluster.kubectl("delete", "pvc", "-l", "app=db", "--timeout=60s")
    eventually(lambda: not cluster.get("pv")["items"])


def test_a_volume_lives_as_long_as_its_pod_and_may_be_mounted_in_parts(cluster: Cluster) -> None:
    script = "echo whole> C:\\all\\f & echo part> C:\\part\\f & ping -t localhost >nul"
    mounts = [
        {"name": "own", "mountPath": "C:\\all"},
        {"name": "own", "mountPath": "C:\\part", "subPath": "in/side"},
    ]
    spec = template("own", command=["cmd", "/c", script], volumeMounts=mounts)["spec"]
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    source = {"volumeClaimTemplate": {"spec": claim}}
    cluster.apply(
        workload("v1", "Pod", "own", **spec, volumes=[{"name": "own", "ephemeral": source}])
    )
    try:
        cluster.kubectl("wait", "--for=condition=Ready", "pod/own", "--timeout=90s")
        show = ("exec", "own", "--", "cmd", "/c", "type C:\\all\\f & type C:\\all\\in\\side\\f")
        assert eventually(lambda: cluster.kubectl(*show).stdout.split()) == ["whole", "part"]
        assert cluster.get("pvc", "own-own")["status"]["phase"] == "Bound"
    finally:
        cluster.kubectl("delete", "pod", "own")
    eventually(lambda: not cluster.get("pvc,pv", "-A")["items"])


@pytest.mark.parametrize(
    ("api", "kind", "selector"),
    [
        ("apps/v1", "ReplicaSet", {"matchLabels": {"app": "kin"}}),
        ("v1", "ReplicationController", {"app": "kin"}),
    ],
)
def test_pods_that_are_gone_are_replaced(
    cluster: Cluster, api: str, kind: str, selector: dict[str, Any]
) -> None:
    pod = template("kin", command=["cmd", "/c", "ping -t localhost"])
    cluster.apply(workload(api, kind, "kin", replicas=2, selector=selector, template=pod))

    def names(wanted: int) -> set[str]:
        status = cluster.get(kind, "kin")["status"]
        assert status.get("readyReplicas", 0) == status["replicas"] == wanted, status
        pods = cluster.get("pods", "-l", "app=kin")["items"]
        return {p["metadata"]["name"] for p in pods if "deletionTimestamp" not in p["metadata"]}

    try:
        first = eventually(lambda: names(2), seconds=90)
        gone = min(first)
        cluster.kubectl("delete", "pod", gone)
        eventually(lambda: len(names(2) - {gone}) == 2, seconds=90)
        cluster.kubectl("scale", f"{kind}/kin", "--replicas=1")
        eventually(lambda: len(names(1)) == 1)
    finally:
        cluster.kubectl("delete", kind, "kin")
    eventually(lambda: not cluster.get("pods", "-l", "app=kin")["items"])


def test_a_daemon_set_runs_on_every_windows_node(cluster: Cluster) -> None:
    cluster.apply(
        workload("apps/v1", "DaemonSet", "agent", selector={"matchLabels": {"app": "agent"}},
                 template=template("agent", command=["cmd", "/c", "ping -t localhost"]))
    )  # fmt: skip
    try:
        cluster.kubectl("rollout", "status", "ds/agent", "--timeout=90s")
        pods = cluster.get("pods", "-l", "app=agent")["items"]
        assert sorted(p["spec"]["nodeName"] for p in pods) == ["win-1", "win-2"]
    finally:
        cluster.kubectl("delete", "ds", "agent")


def test_a_job_completes_and_a_cron_job_makes_one(cluster: Cluster) -> None:
    pod = template("once", command=["cmd", "/c", "ver"])
    pod["spec"]["restartPolicy"] = "Never"
    cluster.apply(
        workload("batch/v1", "Job", "once", completions=3, parallelism=2, template=pod),
        workload("batch/v1", "CronJob", "often", schedule="0 0 1 1 *",
                 jobTemplate={"spec": {"template": pod}}),
    )  # fmt: skip
    try:
        cluster.kubectl("create", "job", "now", "--from=cronjob/often")
        for name in ("once", "now"):
            cluster.kubectl("wait", "--for=condition=complete", f"job/{name}", "--timeout=90s")
        assert (
            json.loads(cluster.kubectl("get", "job", "once", "-o", "json").stdout)["status"][
                "succeeded"
            ]
            == 3
        )
    finally:
        cluster.kubectl("delete", "job", "once", "now", "--ignore-not-found")
        cluster.kubectl("delete", "cronjob", "often")


def test_a_disruption_budget_keeps_the_last_pod(cluster: Cluster) -> None:
    cluster.apply(
        workload("apps/v1", "Deployment", "kept", replicas=1,
                 selector={"matchLabels": {"app": "kept"}},
                 template=template("kept", command=["cmd", "/c", "ping -t localhost"])),
        workload("policy/v1", "PodDisruptionBudget", "kept", minAvailable=1,
                 selector={"matchLabels": {"app": "kept"}}),
    )  # fmt: skip
    try:
        cluster.kubectl("rollout", "status", "deploy/kept", "--timeout=90s")
        eventually(lambda: cluster.get("pdb", "kept")["status"]["currentHealthy"] == 1)
        node = cluster.get("pods", "-l", "app=kept")["items"][0]["spec"]["nodeName"]
        drained = cluster.kubectl(
            "drain", node, "--pod-selector=app=kept", "--timeout=3s", check=False
        )
        assert "violate the pod's disruption budget" in drained.stderr
        cluster.kubectl("uncordon", node)
    finally:
        cluster.kubectl("delete", "deploy,pdb", "kept")
