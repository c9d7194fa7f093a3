"""Namespaces, garbage collection, budgets and evictions, nodes, volumes, accounts."""

from typing import Any

from tests.upstream.scenario import Json, Scenario, Stage, Step
from tests.upstream.steps import change, count, each, gone, look, make, pause, remove, until
from tests.upstream.workloads.shapes import (
    is_ready,
    notes,
    pod,
    workload,
)


def config_map(name: str, *owners: str, **more: Json) -> Step:
    """A ConfigMap owned by others of that kind, by name."""

    async def step(stage: Stage) -> None:
        references = []
        for owner in owners:
            found = stage.get("ConfigMap", owner)
            references.append(
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": owner,
                    "uid": found["metadata"]["uid"],
                    **more.get("reference", {}),
                }
            )
        metadata: Any = {"name": name, "ownerReferences": references}
        if more.get("finalizers"):
            metadata["finalizers"] = more["finalizers"]
        await make({"kind": "ConfigMap", "metadata": metadata})(stage)

    return step


def child_of_nobody(kind: str, name: str) -> Json:
    """A ConfigMap whose owner has never been."""
    uid = "11111111-2222-3333-4444-555555555555"
    owner = {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid}
    return {"kind": "ConfigMap", "metadata": {"name": "child", "ownerReferences": [owner]}}


FOREGROUND = {"blockOwnerDeletion": True}
SCENARIOS = [
    Scenario(
        "account and root certificate",
        [
            until("ConfigMap", "kube-root-ca.crt", bool),
            remove("ConfigMap", "kube-root-ca.crt"),
            remove("ServiceAccount", "default"),
            pause(1),
            until("ConfigMap", "kube-root-ca.crt", bool),
            until("ServiceAccount", "default", bool),
            change("ConfigMap", "kube-root-ca.crt", {"data": {"ca.crt": "wrong", "more": "x"}}),
            pause(1),
        ],
        also=("ConfigMap", "ServiceAccount"),
        ignore=("ConfigMap.data",),
    ),
    Scenario(
        "namespace with contents",
        [
            make(
                workload("Deployment", replicas=2),
                pod("kept", "other", finalizers=["example.com/hold"]),
            ),
            count("Pod", 3, is_ready),
            remove("Namespace", "{ns}"),
            until("Pod", "kept", lambda o: o["status"]["phase"] == "Succeeded"),
            until("Namespace", "{ns}", lambda o: o["status"]["conditions"]),
            look("held"),
            change("Pod", "kept", {"metadata": {"finalizers": None}}),
            gone("Namespace", "{ns}"),
        ],
        also=("Namespace",),
    ),
    Scenario(
        "empty namespace",
        [remove("Namespace", "{ns}"), gone("Namespace", "{ns}")],
        also=("Namespace", "ConfigMap"),
    ),
    Scenario(
        "gc: background",
        [
            config_map("owner"),
            config_map("child", "owner"),
            config_map("grandchild", "child"),
            remove("ConfigMap", "owner", "Background"),
            gone("ConfigMap", "grandchild"),
        ],
        also=("ConfigMap",),
        ignore=("ConfigMap.data",),
    ),
    Scenario(
        "gc: foreground",
        [
            config_map("owner"),
            config_map("child", "owner", reference=FOREGROUND, finalizers=["example.com/hold"]),
            config_map("loose", "owner", finalizers=["example.com/hold"]),
            remove("ConfigMap", "owner", "Foreground"),
            until("ConfigMap", "child", lambda o: "deletionTimestamp" in o["metadata"]),
            until("ConfigMap", "loose", lambda o: "deletionTimestamp" in o["metadata"]),
            look("blocked"),
            change("ConfigMap", "child", {"metadata": {"finalizers": None}}),
            gone("ConfigMap", "owner"),
        ],
        also=("ConfigMap",),
        ignore=("ConfigMap.data",),
    ),
    Scenario(
        "gc: orphan",
        [
            config_map("owner"),
            config_map("child", "owner"),
            remove("ConfigMap", "owner", "Orphan"),
            gone("ConfigMap", "owner"),
        ],
        also=("ConfigMap",),
        ignore=("ConfigMap.data",),
    ),
    Scenario(
        "gc: one of two owners",
        [
            config_map("one"),
            config_map("two"),
            config_map("child", "one", "two"),
            remove("ConfigMap", "one", "Background"),
            until("ConfigMap", "child", lambda o: len(o["metadata"]["ownerReferences"]) == 1),
        ],
        also=("ConfigMap",),
        ignore=("ConfigMap.data",),
    ),
    Scenario(
        "gc: owner that never was",
        [
            make(child_of_nobody("ConfigMap", "none")),
            gone("ConfigMap", "child"),
        ],
        also=("ConfigMap",),
        ignore=("ConfigMap.data",),
    ),
    Scenario(
        "gc: owner in another namespace",
        [
            make(child_of_nobody("Namespace", "default")),
            gone("ConfigMap", "child"),
        ],
        also=("ConfigMap",),
        ignore=("ConfigMap.data",),
    ),
    Scenario(
        "pods of many shapes",
        [
            make(
                pod("plain"),
                pod(
                    "init",
                    initContainers=[
                        {"name": "i", "image": "i"},
                        {"name": "s", "image": "s", "restartPolicy": "Always"},
                    ],
                ),
                pod("failed", restartPolicy="Never", annotations=notes(exit="code=3")),
                pod("done", restartPolicy="OnFailure", annotations=notes(exit="code=0")),
                pod("late", restartPolicy="Never", activeDeadlineSeconds=1),
            ),
            count("Pod", 2, is_ready),
            count("Pod", 2, lambda o: o["status"]["phase"] == "Failed"),
            each(
                "Pod", lambda name: remove("Pod", name), lambda o: o["metadata"]["name"] == "plain"
            ),
            gone("Pod", "plain"),
        ],
    ),
]
