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
