"""Autoscalers in both versions, and APIServices."""

from typing import Any

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import merged, posts

V2 = "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers"
V1 = "/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
BASE = {
    "metadata": {"name": "h"},
    "spec": {
        "maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
    },
}
SELECTOR = {"matchLabels": {"a": "b"}}


def autoscaler(row: Any) -> Any:
    return merged(BASE, {"spec": row})


def metric(**entry: Any) -> Any:
    return autoscaler({"metrics": [entry]})


def metrics(name: str, kind: str, field: str, *entries: Any) -> Case:
    return posts(name, V2, [metric(**{"type": kind, field: entry}) for entry in entries])


def target(kind: str, **values: Any) -> dict[str, Any]:
    return {"type": kind, **values}


def rules(*entries: Any) -> list[Any]:
    return [autoscaler({"behavior": {"scaleUp": each}}) for each in entries] + [
        autoscaler({"behavior": {"scaleDown": each}}) for each in entries
    ]


def policy(**entry: Any) -> dict[str, Any]:
    return {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 10, **entry}]}


UTILIZATION = target("Utilization", averageUtilization=50)
AVERAGE = target("AverageValue", averageValue="10")
VALUE = target("Value", value="10")
TARGETS = [
    UTILIZATION,
    AVERAGE,
    VALUE,
    target("Utilization"),
    target("Utilization", averageUtilization=0),
    target("Utilization", averageUtilization=-1),
    target("AverageValue", averageValue="0"),
    target("AverageValue", averageValue="-5"),
    target("Value", value="0"),
    target("Value", value="-1"),
    target("Utilization", averageUtilization=50, averageValue="10"),
    target("Value", value="1", averageValue="10"),
    target("", averageUtilization=5),
    target("Other", averageUtilization=5),
    {},
]
ALL = [
    {"type": "Resource", "resource": {"name": "memory", "target": UTILIZATION}},
    {"type": "Pods", "pods": {"metric": {"name": "p", "selector": SELECTOR}, "target": AVERAGE}},
    {
        "type": "Object",
        "object": {
            "describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"},
            "metric": {"name": "o"},
            "target": VALUE,
        },
    },
    {
        "type": "External",
        "external": {"metric": {"name": "e", "selector": SELECTOR}, "target": AVERAGE},
    },
    {
        "type": "ContainerResource",
        "containerResource": {"name": "cpu", "container": "c", "target": UTILIZATION},
    },
    {"type": "Resource", "resource": {"name": "cpu", "target": UTILIZATION}},
]
STATUS = {
    "currentReplicas": 1,
    "desiredReplicas": 2,
    "lastScaleTime": "2026-01-01T00:00:00Z",
    "currentMetrics": [
        {
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "current": {"averageUtilization": 7, "averageValue": "5m"},
            },
        },
        {"type": "External", "external": {"metric": {"name": "e"}, "current": {"value": "3"}}},
    ],
    "conditions": [
        {
            "type": "AbleToScale",
            "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "reason": "R",
            "message": "m",
        }
    ],
}
REMOTE = {
    "metadata": {"name": "v1.x.example"},
    "spec": {
        "group": "x.example",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
        "service": {"name": "s", "namespace": "n"},
    },
}


def remote(**row: Any) -> Any:
    return merged(REMOTE, {"spec": row})


CASES = [
    posts(
        "bounds",
        V2,
        [
            autoscaler(row)
            for row in (
                {},
                {"minReplicas": 0},
                {"minReplicas": -1},
                {"minReplicas": 4},
                {"maxReplicas": 0},
                {"maxReplicas": -1},
                {"maxReplicas": ...},
                {"minReplicas": 3},
            )
        ],
    ),
    posts(
        "targets",
        V2,
        [
            autoscaler({"scaleTargetRef": row})
            for row in (
                {"kind": ""},
                {"name": ""},
                {"kind": "a/b"},
                {"name": "a/b"},
                {"name": ".."},
                {"apiVersion": "a/b/c"},
                {"apiVersion": ...},
            )
        ],
    ),
    metrics(
        "resource", "Resource", "resource", *({"name": "cpu", "target": each} for each in TARGETS)
    ),
    metrics("resource names", "Resource", "resource", {"name": "", "target": UTILIZATION}, {}),
    metrics(
        "container resource",
        "ContainerResource",
        "containerResource",
        *({"name": "cpu", "container": "c", "target": each} for each in TARGETS),
        {"name": "cpu", "container": "", "target": UTILIZATION},
        {"name": "", "container": "c", "target": UTILIZATION},
        {"name": "cpu", "container": "C_D", "target": UTILIZATION},
    ),
    metrics(
        "pods", "Pods", "pods", *({"metric": {"name": "m"}, "target": each} for each in TARGETS)
    ),
    metrics(
        "metric names",
        "Pods",
        "pods",
        {"metric": {"name": ""}, "target": AVERAGE},
        {"metric": {"name": "a/b"}, "target": AVERAGE},
        {"metric": {"name": "m", "selector": {"matchLabels": {"-": "x"}}}, "target": AVERAGE},
    ),
    metrics(
        "object",
        "Object",
        "object",
        *(
            {
                "describedObject": {"kind": "Service", "name": "s"},
                "metric": {"name": "m"},
                "target": each,
            }
            for each in TARGETS
        ),
        {"describedObject": {"kind": "", "name": ""}, "metric": {"name": "m"}, "target": VALUE},
    ),
    metrics(
        "external",
        "External",
        "external",
        *({"metric": {"name": "m"}, "target": each} for each in TARGETS),
        {"metric": {"name": "a/b"}, "target": VALUE},
    ),
    posts(
        "kinds of metrics",
        V2,
        [
            metric(type="Other"),
            metric(type=""),
            metric(type="Resource"),
            metric(type="Pods", resource={"name": "cpu", "target": UTILIZATION}),
            metric(
                type="Resource",
                resource={"name": "cpu", "target": UTILIZATION},
                pods={"metric": {"name": "m"}, "target": AVERAGE},
            ),
            autoscaler({"metrics": []}),
            autoscaler({"metrics": ALL}),
        ],
    ),
    posts(
        "behaviour",
        V2,
        [
            autoscaler({"behavior": {}}),
            *rules(
                {},
                {"stabilizationWindowSeconds": 0},
                {"stabilizationWindowSeconds": -1},
                {"stabilizationWindowSeconds": 3601},
                {"selectPolicy": "Min"},
                {"selectPolicy": "Disabled"},
                {"selectPolicy": "Some"},
                {"policies": []},
                {"policies": None},
                {"policies": [], "selectPolicy": "Disabled"},
                policy(),
                policy(type="Percent"),
                policy(type="Other"),
                policy(type=""),
                policy(value=0),
                policy(value=-1),
                policy(periodSeconds=0),
                policy(periodSeconds=1801),
                policy(periodSeconds=-1),
            ),
        ],
    ),
    posts(
        "the older version",
        V1,
        [
            autoscaler(row)
            for row in (
                {},
                {"targetCPUUtilizationPercentage": 0},
                {"targetCPUUtilizationPercentage": -5},
                {"targetCPUUtilizationPercentage": 70, "minReplicas": 2},
                {"minReplicas": 0},
                {"scaleTargetRef": {"kind": ""}},
            )
        ],
    ),
    Case(
        "both versions of one",
        [
            Step("POST", V2, autoscaler({"metrics": ALL, "behavior": {"scaleUp": policy()}})),
            Step("PATCH", f"{V2}/h/status", {"status": STATUS}, MERGE),
            Step("GET", f"{V2}/h"),
            Step("GET", f"{V1}/h"),
            Step("PATCH", f"{V1}/h", {"spec": {"targetCPUUtilizationPercentage": 33}}, MERGE),
            Step("GET", f"{V2}/h"),
            Step("PATCH", f"{V1}/h", {"metadata": {"annotations": {"mine": "x"}}}, MERGE),
            Step("GET", f"{V2}/h"),
            Step("GET", f"{V2}/h/status"),
            Step("PATCH", f"{V2}/h", {"spec": {"maxReplicas": 0}}, MERGE),
            Step("PATCH", f"{V2}/h/status", {"status": {"desiredReplicas": -1}}, MERGE),
            Step("DELETE", f"{V1}/h"),
        ],
        managed=False,
    ),
    Case(
        "api services",
        [
            Step("POST", f"{SERVICES}?dryRun=All", body)
            for body in (
                remote(),
                merged(REMOTE, {"metadata": {"name": "other"}}),
                remote(group=""),
                remote(group="X_Y"),
                remote(version="1"),
                remote(groupPriorityMinimum=0),
                remote(groupPriorityMinimum=20001),
                remote(versionPriority=0),
                remote(versionPriority=1001),
                remote(service=None),
                remote(service=None, caBundle="YQ=="),
                remote(service=None, insecureSkipTLSVerify=True),
                remote(service={"name": "", "namespace": ""}),
                remote(service={"port": 0}),
                remote(service={"port": 70000}),
                remote(caBundle="YQ==", insecureSkipTLSVerify=True),
                remote(insecureSkipTLSVerify=True),
            )
        ],
        managed=False,
    ),
]
