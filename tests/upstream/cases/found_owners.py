"""Whose fields are whose after writes of parts, of lists given empty, and of what is dropped."""

from typing import Any

from tests.upstream.cases.found import BY_KIND
from tests.upstream.exchange import APPLY, JSON_PATCH, MERGE, STRATEGIC, Case, Step
from tests.upstream.objects import SAMPLE, Sample
from tests.upstream.variants import DRY, merged

POD = Sample(
    "Pod",
    "/api/v1/namespaces/{ns}/pods",
    {
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [
                {
                    "name": "c",
                    "image": "i:1",
                    "ports": [{"containerPort": 80}],
                    "resources": {"requests": {"cpu": "1"}},
                }
            ],
        }
    },
)
JOB = BY_KIND["Job"]
VOLUME = BY_KIND["PersistentVolume"]
SETS = BY_KIND["ReplicaSet"]
DEPLOYMENT = SAMPLE["Deployment"]
BUDGET = SAMPLE["PodDisruptionBudget"]
NODE = BY_KIND["Node"]
ENDS = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")
LABELLED = {"labels": {"a": "b"}}
SOURCE = {"configMap": {"kubeletConfigKey": "k"}}
RFC = "2020-01-01T00:00:00Z"


def typed(sample: Sample, row: Any) -> Any:
    group = sample.path.split("/")[2:4]
    version = "v1" if sample.path.startswith("/api/") else "/".join(group)
    return merged({"apiVersion": version, "kind": sample.kind, **sample.named()}, row)


def ways(sample: Sample, part: str, row: Any) -> list[Step]:
    """One change of a part, in every way to write it; then the object is looked at."""
    place, body = f"{sample.item}{part}", typed(sample, row)
    return [
        Step("PUT", f"{place}{DRY}", body),
        Step("PATCH", f"{place}{DRY}", row, MERGE),
        Step("PATCH", f"{place}{DRY}", row, STRATEGIC),
        Step("PATCH", f"{place}{DRY}&fieldManager=m&force=true", body, APPLY),
        Step("PATCH", f"{place}?fieldManager=n&force=true", typed(sample, row), APPLY),
        Step("GET", sample.item),
    ]


def parts(name: str, sample: Sample, *rows: tuple[str, Any]) -> Case:
    steps = [step for part, row in rows for step in ways(sample, part, row)]
    end = Step("DELETE", f"{sample.item}?gracePeriodSeconds=0")
    return Case(name, [Step("POST", sample.path, sample.named()), *steps, end])


def contained(**fields: Any) -> Any:
    return {"spec": {"containers": [{"name": "c", "image": "i:1", **fields}]}}


def templated(spec: Any) -> Any:
    body = {"containers": [{"name": "c", "image": "i:1", **spec}], **spec.get("spec", {})}
    body["containers"][0].pop("spec", None)
    return {"metadata": {"name": "a"}, "template": {"spec": body}}


TEMPLATE = Sample("PodTemplate", "/api/v1/namespaces/{ns}/podtemplates", {})
ROLE = SAMPLE["ClusterRole"]
PORT = {"containerPort": 80, "protocol": "TCP", "name": "n"}
AFFINITY = {
    "spec": {
        "nodeAffinity": {
            "required": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "a", "operator": "Exists"}], "matchFields": []}
                ]
            }
        }
    }
}
OFF = {
    "restartPolicy": "Never",
    "env": [{"name": "v", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "lifecycle": {"stopSignal": "SIGTERM"},
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    "spec": {
        "hostnameOverride": "h",
        "os": {"name": "linux"},
        "volumes": [{"name": "v", "image": {"reference": "r"}}, {"name": "e"}],
    },
}
UNREADABLE: list[Any] = [typed(POD, {"spec": {"x": 1}}), "a: b: c", {}]
DEBUG = {"name": "debug", "image": "i:1", "targetContainerName": "c"}

CASES = [
    parts(
        "parts of a pod",
        POD,
        ("/resize", contained(resources={"requests": {"cpu": "2"}})),
        (
            "/resize",
            {**contained(resources={"requests": {"cpu": "3"}}), "metadata": {"labels": {"a": "b"}}},
        ),
        ("/resize", contained(image="i:2", restartPolicy="Never")),
        ("/ephemeralcontainers", {"spec": {"hostname": "h"}}),
        ("/ephemeralcontainers", {"spec": {"ephemeralContainers": [DEBUG]}}),
        ("/status", {"metadata": {"ownerReferences": []}, "status": {"message": "m"}}),
        ("/status", {"status": {}}),
        (
            "/status",
            {
                "spec": {"hostname": "h"},
                "status": {
                    "phase": "Running",
                    "extendedResourceClaimStatus": {
                        "resourceClaimName": "x",
                        "requestMappings": [],
                    },
                    "containerStatuses": [
                        {
                            "name": "c",
                            "image": "i",
                            "imageID": "i",
                            "ready": True,
                            "restartCount": 0,
                            "allocatedResources": {"cpu": "1n"},
                            "allocatedResourcesStatus": [{"name": "cpu"}],
                        }
                    ],
                },
            },
        ),
    ),
    parts(
        "parts of a deployment",
        DEPLOYMENT,
        ("/status", {"metadata": {"labels": {"a": "b"}}, "status": {"replicas": 1}}),
        ("", {"metadata": {"labels": {"a": "b"}}, "status": {"replicas": 2}}),
    ),
    parts(
        "reports on a set",
        SETS,
        ("/status", {"spec": {"replicas": 9}, "status": {"replicas": 1, "terminatingReplicas": 2}}),
    ),
    parts(
        "reports on a node",
        NODE,
        (
            "/status",
            {"status": {"config": {"lastKnownGood": {"configMap": {"kubeletConfigKey": "k"}}}}},
        ),
        ("", {"spec": {"configSource": {"configMap": {"kubeletConfigKey": "k"}}}}),
    ),
    parts(
        "reports on a volume",
        VOLUME,
        ("/status", {"status": {"phase": "Bound"}}),
        ("/status", {"status": {"phase": "Bound", "message": "m"}}),
        ("/status", {"status": {"phase": "Released", "lastPhaseTransitionTime": RFC}}),
        ("/status", {"status": {"phase": "Released", "reason": "r"}}),
    ),
    parts(
        "reports on a budget",
        BUDGET,
        ("/status", {"status": {"conditions": [{"type": "x y"}, {}]}}),
        (
            "/status",
            {
                "status": {
                    "currentHealthy": 1,
                    "conditions": [
                        {
                            "type": "A",
                            "status": "True",
                            "reason": "9",
                            "message": "",
                            "observedGeneration": -1,
                            "lastTransitionTime": RFC,
                        }
                    ],
                }
            },
        ),
    ),
    Case(
        "reports on a job",
        [
            Step("POST", JOB.path, JOB.named()),
            *(
                Step("PATCH", f"{JOB.item}/status{DRY}", {"status": status}, MERGE)
                for status in (
                    {"ready": 2},
                    {"ready": 2, "active": 2, "terminating": -1},
                    {"completedIndexes": "1-"},
                    {"completedIndexes": "0,0"},
                    {"completedIndexes": "0-1-2", "failedIndexes": "0"},
                    {"failedIndexes": ""},
                    {"completionTime": RFC},
                    {"startTime": RFC, "completionTime": "2019-01-01T00:00:00Z"},
                    {"uncountedTerminatedPods": {"succeeded": ["a", "a", ""], "failed": ["a"]}},
                    {"conditions": [{"type": "Complete", "status": "True"}]},
                    {"conditions": [{"type": "Failed", "status": "True"}], "active": 1},
                    {
                        "conditions": [
                            {"type": kind, "status": "True"}
                            for kind in (
                                "Complete",
                                "Failed",
                                "FailureTarget",
                                "SuccessCriteriaMet",
                            )
                        ],
                        "startTime": RFC,
                        "terminating": 1,
                    },
                )
            ),
            Step(
                "PATCH",
                f"{JOB.item}/status",
                {"status": {"startTime": RFC, "failed": 2, "succeeded": 1, "ready": 0}},
                MERGE,
            ),
            Step("PATCH", f"{JOB.item}/status", {"status": {"failed": 1, "succeeded": 0}}, MERGE),
            Step("PATCH", f"{JOB.item}/status", {"status": {"startTime": None}}, MERGE),
            Step("DELETE", JOB.item),
        ],
    ),
    Case(
        "lists given empty",
        [
            Step("POST", ROLE.path, {**ROLE.named(), "rules": []}),
            Step("PATCH", f"{ROLE.item}?fieldManager=m", typed(ROLE, {"rules": []}), APPLY),
            Step("PATCH", f"{ROLE.item}{DRY}&fieldManager=j", {"rules": []}, MERGE),
            Step("PUT", f"{ROLE.item}{DRY}&fieldManager=j", {**ROLE.named(), "rules": None}),
            Step("DELETE", ROLE.item),
            Step("POST", VOLUME.path, VOLUME.named()),
            Step("PUT", f"{VOLUME.item}{DRY}&fieldManager=m", VOLUME.named(finalizers=[])),
            Step("PATCH", f"{VOLUME.item}{DRY}&fieldManager=m", AFFINITY, MERGE),
            Step("PATCH", f"{VOLUME.item}?fieldManager=m", {"metadata": {"labels": {}}}, MERGE),
            Step("DELETE", VOLUME.item),
        ],
    ),
    Case(
        "elements that stand twice",
        [
            Step("POST", POD.path, POD.named()),
            *(
                Step("PATCH", f"{POD.item}/resize{DRY}&fieldManager=m", operations, JSON_PATCH)
                for operations in (
                    [{"op": "add", "path": "/spec/containers/0/ports/1", "value": PORT}],
                    [
                        {"op": "add", "path": "/spec/containers/0/ports/1", "value": PORT},
                        {"op": "add", "path": "/spec/containers/0/ports/2", "value": PORT},
                        {"op": "remove", "path": "/spec/containers/0/ports/0"},
                    ],
                    [{"op": "replace", "path": "/spec/containers/0/ports", "value": [PORT, PORT]}],
                )
            ),
            Step("DELETE", f"{POD.item}?gracePeriodSeconds=0"),
        ],
    ),
    Case(
        "fields of features that are off",
        [
            Step("POST", f"{TEMPLATE.path}?fieldManager=m", templated(OFF)),
            Step("PUT", f"{TEMPLATE.item}?fieldManager=n", templated(OFF)),
            Step("PUT", f"{TEMPLATE.item}?fieldManager=n", templated({})),
            Step("DELETE", TEMPLATE.item),
        ],
    ),
    Case(
        "parts of what is not there",
        [
            Step("PATCH", f"{POD.item}{part}?fieldManager=m", body, APPLY)
            for part in ("/status", "/resize", "/ephemeralcontainers")
            for body in UNREADABLE
        ],
    ),
]
