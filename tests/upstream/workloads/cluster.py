"""Namespaces, garbage collection, budgets and evictions, nodes, volumes, accounts."""

from typing import Any

from tests.upstream.scenario import (
    Json,
    Scenario,
    Stage,
    Step,
    change,
    count,
    each,
    evict,
    gone,
    look,
    make,
    pause,
    remove,
    until,
)
from tests.upstream.workloads.shapes import (
    claim,
    condition,
    is_ready,
    notes,
    pod,
    template,
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


def budget(**spec: Json) -> Json:
    made = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": made,
    }


def allowed(number: int, healthy: int) -> Step:
    return until(
        "PodDisruptionBudget",
        "web",
        lambda o: (
            o["status"]["disruptionsAllowed"] == number
            and o["status"]["currentHealthy"] == healthy
            and o["status"]["observedGeneration"] == o["metadata"]["generation"]
        ),
    )


def taint(node: str, *taints: Json) -> Step:
    return change(
        "Node", node, {"spec": {"taints": [{"key": "spare", "effect": "NoSchedule"}, *taints]}}
    )


def volume(name: str, **spec: Json) -> Json:
    made = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/tmp/none"},
        "storageClassName": "static-{ns}",
        **spec,
    }
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": made}


def storage_class(name: str, **fields: Json) -> Json:
    made = {"provisioner": "kubernetes.io/no-provisioner", **fields}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        **made,
    }


def on_spare(number: int, name: str = "a", **more: Json) -> Json:
    tolerations = [{"key": "spare", "operator": "Exists"}, *more.pop("tolerations", [])]
    return pod(name, nodeName=f"spare-{number}", tolerations=tolerations, **more)


SECONDS = [
    {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 1,
    },
    {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 1,
    },
]
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
            make(
                {
                    "kind": "ConfigMap",
                    "metadata": {
                        "name": "child",
                        "ownerReferences": [
                            {
                                "apiVersion": "v1",
                                "kind": "ConfigMap",
                                "name": "none",
                                "uid": "11111111-2222-3333-4444-555555555555",
                            }
                        ],
                    },
                }
            ),
            gone("ConfigMap", "child"),
        ],
        also=("ConfigMap",),
        ignore=("ConfigMap.data",),
    ),
    Scenario(
        "gc: owner in another namespace",
        [
            make(
                {
                    "kind": "ConfigMap",
                    "metadata": {
                        "name": "child",
                        "ownerReferences": [
                            {
                                "apiVersion": "v1",
                                "kind": "Namespace",
                                "name": "default",
                                "uid": "11111111-2222-3333-4444-555555555555",
                            }
                        ],
                    },
                }
            ),
            gone("ConfigMap", "child"),
        ],
        also=("ConfigMap",),
        ignore=("ConfigMap.data",),
    ),
    Scenario(
        "budget: minAvailable",
        [
            make(budget(minAvailable=2), workload("Deployment", replicas=3)),
            allowed(1, 3),
            look("allowed"),
            evict(),
            allowed(1, 3),
            evict(is_ready),
        ],
        ignore=(
            "Event.NoPods",
            "#SuccessfulCreate",
            "#Scheduled",
            "PodDisruptionBudget.status.disruptedPods",
        ),
    ),
    Scenario(
        "budget: none allowed",
        [
            make(budget(minAvailable="100%"), workload("ReplicaSet", replicas=2)),
            allowed(0, 2),
            evict(),
            change(
                "PodDisruptionBudget", "web", {"spec": {"minAvailable": None, "maxUnavailable": 1}}
            ),
            allowed(1, 2),
        ],
        ignore=("Event.NoPods",),
    ),
    Scenario(
        "budget: maxUnavailable percentage",
        [
            make(
                budget(maxUnavailable="30%"), workload("StatefulSet", replicas=3, serviceName="x")
            ),
            allowed(1, 3),
        ],
        ignore=("Event.NoPods",),
    ),
    Scenario(
        "budget: unhealthy pods",
        [
            make(
                budget(minAvailable=1, unhealthyPodEvictionPolicy="AlwaysAllow"),
                workload(
                    "ReplicaSet", replicas=1, template=template(annotations=notes(ready="never"))
                ),
            ),
            count("Pod", 1, lambda o: o["status"]["phase"] == "Running"),
            allowed(0, 0),
            look("unhealthy"),
            evict(),
            count(
                "Pod",
                1,
                lambda o: (
                    o["status"]["phase"] == "Running" and "deletionTimestamp" not in o["metadata"]
                ),
            ),
        ],
        ignore=(
            "Event.NoPods",
            "PodDisruptionBudget.status.disruptedPods",
        ),
    ),
    Scenario(
        "budget: pods without controller",
        [
            make(budget(maxUnavailable=1), pod("a")),
            count("Pod", 1, is_ready),
            until("PodDisruptionBudget", "web", lambda o: o["status"]["conditions"]),
        ],
        ignore=("Event.NoPods", "#CalculateExpectedPodCountFailed", "#NoControllers"),
    ),
    Scenario(
        "budget: nothing matches",
        [make(budget(minAvailable=1)), allowed(0, 0)],
        ignore=("#NoPods",),
    ),
    Scenario(
        "budget: two for one pod",
        [
            make(
                budget(minAvailable=0),
                {**budget(minAvailable=0), "metadata": {"name": "second"}},
                workload("ReplicaSet", replicas=1),
            ),
            allowed(1, 1),
            pause(1),
            evict(),
        ],
        ignore=("Event.NoPods", "Event.MultiplePodDisruptionBudgets"),
    ),
    Scenario(
        "eviction without budget",
        [make(pod("a")), count("Pod", 1, is_ready), evict(), gone("Pod", "a")],
    ),
    Scenario(
        "taint evicts at once and later",
        [
            make(
                on_spare(4),
                on_spare(
                    4,
                    "b",
                    tolerations=[
                        {
                            "key": "evil",
                            "operator": "Exists",
                            "effect": "NoExecute",
                            "tolerationSeconds": 2,
                        }
                    ],
                ),
                on_spare(4, "c", tolerations=[{"key": "evil", "operator": "Exists"}]),
            ),
            count("Pod", 3, is_ready),
            taint("spare-4", {"key": "evil", "value": "x", "effect": "NoExecute"}),
            gone("Pod", "a"),
            gone("Pod", "b"),
        ],
    ),
    Scenario(
        "taint goes before its time",
        [
            make(
                on_spare(
                    7,
                    "b",
                    tolerations=[
                        {
                            "key": "evil2",
                            "operator": "Exists",
                            "effect": "NoExecute",
                            "tolerationSeconds": 3,
                        }
                    ],
                )
            ),
            count("Pod", 1, is_ready),
            taint("spare-7", {"key": "evil2", "value": "x", "effect": "NoExecute"}),
            pause(1),
            taint("spare-7"),
            pause(4),
        ],
    ),
    Scenario(
        "node that stops",
        [
            make(
                on_spare(5, tolerations=SECONDS),
                on_spare(5, "kept", tolerations=[{"operator": "Exists"}]),
            ),
            count("Pod", 2, is_ready),
            change(
                "Node",
                "spare-5",
                {
                    "metadata": {
                        "annotations": {
                            "simulation.winkube.dev/state": "stopped",
                            "scenario": "{ns}",
                        }
                    }
                },
            ),
            until("Node", "spare-5", lambda o: condition(o, "Ready")["status"] == "Unknown"),
            until("Pod", "a", lambda o: "deletionTimestamp" in o["metadata"]),
            look("unreachable"),
            change(
                "Node",
                "spare-5",
                {"metadata": {"annotations": {"simulation.winkube.dev/state": None}}},
            ),
            gone("Pod", "a"),
            until(
                "Node",
                "spare-5",
                lambda o: (
                    condition(o, "Ready")["status"] == "True" and len(o["spec"]["taints"]) == 1
                ),
            ),
        ],
        also=("Node",),
        ignore=("#NodeNotReady",),
    ),
    Scenario(
        "node that is deleted",
        [
            make(on_spare(6, tolerations=[{"operator": "Exists"}])),
            count("Pod", 1, is_ready),
            remove("Node", "spare-6"),
            # Pods of a node that is gone are collected after a minute.
            count("Pod", 0, seconds=120),
        ],
    ),
    Scenario(
        "volume: static",
        [
            make(
                volume("{ns}-a", capacity={"storage": "5Gi"}),
                volume("{ns}-b", capacity={"storage": "2Gi"}),
            ),
            until("PersistentVolume", "{ns}-a", lambda o: o["status"]["phase"] == "Available"),
            until("PersistentVolume", "{ns}-b", lambda o: o["status"]["phase"] == "Available"),
            make(
                claim("data", storageClassName="static-{ns}"),
            ),
            until("PersistentVolumeClaim", "data", lambda o: o["status"]["phase"] == "Bound"),
        ],
        also=("PersistentVolume",),
    ),
    Scenario(
        "volume: reserved for a claim",
        [
            make(
                volume("{ns}-a", claimRef={"namespace": "{ns}", "name": "data"}),
                claim("data", storageClassName="static-{ns}"),
                claim("other", storageClassName="static-{ns}"),
            ),
            until("PersistentVolumeClaim", "data", lambda o: o["status"]["phase"] == "Bound"),
        ],
        also=("PersistentVolume",),
        ignore=("#FailedBinding",),
    ),
    Scenario(
        "volume: by name and by selector",
        [
            make(
                {
                    **volume("{ns}-a"),
                    "metadata": {"name": "{ns}-a", "labels": {"disk": "fast-{ns}"}},
                },
                volume("{ns}-b"),
                claim("named", storageClassName="static-{ns}", volumeName="{ns}-b"),
                claim(
                    "chosen",
                    storageClassName="static-{ns}",
                    selector={"matchLabels": {"disk": "fast-{ns}"}},
                ),
            ),
            count("PersistentVolumeClaim", 2, lambda o: o["status"]["phase"] == "Bound"),
        ],
        also=("PersistentVolume",),
    ),
    Scenario(
        "volume: none fits",
        [
            make(
                volume("{ns}-a", capacity={"storage": "1Mi"}),
                claim("data", storageClassName="static-{ns}"),
            ),
            pause(2),
        ],
        also=("PersistentVolume",),
        ignore=("#FailedBinding", "#ProvisioningFailed"),
    ),
    Scenario(
        "volume: wait for the first consumer",
        [
            make(
                storage_class("late-{ns}", volumeBindingMode="WaitForFirstConsumer"),
                volume("{ns}-a", storageClassName="late-{ns}"),
                claim("data", storageClassName="late-{ns}"),
            ),
            pause(2),
            look("waiting"),
            make(pod("a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])),
            count("Pod", 1, is_ready),
        ],
        also=("PersistentVolume",),
        ignore=("#WaitForFirstConsumer",),
    ),
    Scenario(
        "volume: retained after its claim",
        [
            make(volume("{ns}-a")),
            until("PersistentVolume", "{ns}-a", lambda o: o["status"]["phase"] == "Available"),
            make(claim("data", storageClassName="static-{ns}")),
            until("PersistentVolumeClaim", "data", lambda o: o["status"]["phase"] == "Bound"),
            remove("PersistentVolumeClaim", "data"),
            gone("PersistentVolumeClaim", "data"),
            until("PersistentVolume", "{ns}-a", lambda o: o["status"]["phase"] == "Released"),
        ],
        also=("PersistentVolume",),
    ),
    Scenario(
        "volume: protection",
        [
            make(
                volume("{ns}-a"),
            ),
            until("PersistentVolume", "{ns}-a", lambda o: o["status"]["phase"] == "Available"),
            make(
                claim("data", storageClassName="static-{ns}"),
                pod("a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
            ),
            count("Pod", 1, is_ready),
            remove("PersistentVolumeClaim", "data"),
            remove("PersistentVolume", "{ns}-a"),
            look("in use"),
            remove("Pod", "a"),
            gone("PersistentVolumeClaim", "data"),
            gone("PersistentVolume", "{ns}-a"),
        ],
        also=("PersistentVolume",),
        ignore=("Event.FailedScheduling",),
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
