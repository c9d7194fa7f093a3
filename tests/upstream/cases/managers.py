"""Managers edited by hand, of several versions, and of clients that applied on their own side."""

import json
from typing import Any

from tests.upstream.exchange import APPLY, MERGE, Case, Step
from tests.upstream.variants import DRY

MAPS = "/api/v1/namespaces/{ns}/configmaps"
V2 = "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers"
V1 = "/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers"
EVENTS = "/api/v1/namespaces/{ns}/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/{ns}/events"
LAST = "kubectl.kubernetes.io/last-applied-configuration"


def config(data: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", **metadata},
    }
    return made if data is None else {**made, "data": data}


def applied(manager: str, body: Any, more: str = "", path: str = MAPS) -> Step:
    return Step("PATCH", f"{path}/a?fieldManager={manager}{more}", body, APPLY)


def entry(manager: str, operation: str = "Update", *fields: str, **more: Any) -> dict[str, Any]:
    owned: dict[str, Any] = {"f:data": {f"f:{field}": {} for field in fields}}
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": owned,
        **more,
    }


NONE_SAID: tuple[Any, ...] = (None, [], [{}], [{}, {}], [None], {}, "x", [1], [[]])
WRONG: tuple[Any, ...] = (
    [entry("m", "Create", "a")],
    [entry("m", "", "a")],
    [entry("m", "Update", "a", apiVersion="")],
    [entry("m", "Update", "a", apiVersion=None)],
    [entry("m", "Update", "a", fieldsType="")],
    [entry("m", "Update", "a", fieldsType="FieldsV2")],
    [entry("m", "Update", "a", fieldsV1=None)],
    [entry("m", "Update", "a", fieldsV1={})],
    [entry("m", "Update", "a", fieldsV1={"x": {}})],
    [entry("m", "Update", "a", fieldsV1={"f:data": {"k:x": {}}})],
    [entry("m", "Update", "a", fieldsV1={"f:data": 1})],
    [entry("m", "Update", "a", fieldsV1="x")],
    [entry("m", "Update", "a", fieldsV1={"i:5": {}, "v:1": {}})],
    [entry("m", "Update", "a", time="x")],
    [entry("m", "Update", "a", time="2020-01-01T00:00:00Z")],
    [entry("m", "Update", "a", unknown=1)],
    [entry("", "Update", "a")],
    [entry("x" * 129, "Update", "a")],
    [entry("\u200b", "Update", "a")],
    [entry("m", "Update", "a", subresource="s")],
    [entry("m", "Update", "a", subresource="status")],
    [entry("m", "Update", "a", apiVersion="apps/v1")],
    [entry("m", "Update", "a", apiVersion="v2")],
    [entry("m", "Update", "a", apiVersion="no/v1")],
    [entry("m", "Update", "a", apiVersion="a/b/c")],
    [entry("m", "Update", "a"), entry("m", "Update", "b")],
    [entry("m", "Apply", "a"), entry("m", "Update", "a")],
    [entry("m", "Apply", "a"), entry("n", "Apply", "a", "b")],
    [entry("m", "Apply", "absent")],
    [entry("m", "Update", "a"), {}],
)


def edits(name: str, values: tuple[Any, ...]) -> Case:
    """Said in a creation, a replacement and a patch."""
    steps = []
    for value in values:
        body = config({"a": "1", "b": "2"}, managedFields=value)
        steps += [
            Step("POST", f"{MAPS}{DRY}", {**body, "metadata": {**body["metadata"], "name": "n"}}),
            Step("PUT", f"{MAPS}/a{DRY}&fieldManager=p", body),
            Step("PATCH", f"{MAPS}/a{DRY}&fieldManager=p", {"metadata": body["metadata"]}, MERGE),
            Step("PATCH", f"{MAPS}/a{DRY}&fieldManager=p", {**body, "data": {"a": "2"}}, MERGE),
        ]
    start = Step("POST", f"{MAPS}?fieldManager=o", config({"a": "1", "b": "2"}))
    return Case(name, [start, *steps, Step("DELETE", f"{MAPS}/a")])


def remembered(data: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """As kubectl leaves it when it applies without the server's help."""
    text = json.dumps(config(data), separators=(",", ":"), sort_keys=True)
    return config(data, annotations={LAST: f"{text}\n"}, **metadata)


def autoscaler(version: str, **spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3, **spec},
    }


def metric(name: str, percent: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": name, "target": target}}


KEPT: list[Any] = [[entry("m", "Apply", "a"), entry("n", "Update", "b")], [{}], WRONG[7]]
LOOK = [Step("GET", f"{V1}/a"), Step("GET", f"{V2}/a")]

CASES = [
    edits("nobody said", NONE_SAID),
    edits("managers that are wrong", WRONG),
    Case(
        "managers that are kept",
        [
            Step("POST", f"{MAPS}?fieldManager=o", config({"a": "1", "b": "2"})),
            *(
                step
                for value in KEPT
                for step in (
                    Step("PATCH", f"{MAPS}/a", {"metadata": {"managedFields": value}}, MERGE),
                    applied("m", config({"b": "3"})),
                    applied("m", config({"b": "3"}), "&force=true"),
                    Step("PATCH", f"{MAPS}/a?fieldManager=q", {"data": {"a": "5"}}, MERGE),
                )
            ),
            Step("PUT", f"{MAPS}/a", config({"a": "1"}, managedFields=[])),
            Step("PUT", f"{MAPS}/a?fieldManager=r", config({"a": "2"})),
            applied("s", config({"a": "2"})),
            Step("GET", f"{MAPS}/a"),
            Step("DELETE", f"{MAPS}/a"),
        ],
    ),
    Case(
        "from applying at the client",
        [
            Step(
                "POST",
                f"{MAPS}?fieldManager=kubectl-client-side-apply",
                remembered({"a": "1", "b": "2"}),
            ),
            applied("kubectl", config({"a": "3", "b": "2"})),
            Step("PATCH", f"{MAPS}/a?fieldManager=e", {"data": {"b": "9"}}, MERGE),
            applied("kubectl", config({"a": "4", "b": "5"})),
            applied("other", config({"a": "4"})),
            applied("kubectl", config({"a": "4", "c": "5"})),
            applied("kubectl", config({"a": "4", "c": "5"}), "&force=true"),
            Step(
                "PATCH",
                f"{MAPS}/a",
                {"metadata": {"annotations": {LAST: "not json"}}},
                MERGE,
            ),
            Step("PATCH", f"{MAPS}/a?fieldManager=e", {"data": {"a": "7"}}, MERGE),
            applied("kubectl", config({"a": "8"})),
            Step("DELETE", f"{MAPS}/a"),
        ],
    ),
    Case(
        "from the client's owner to the server's",
        [
            Step(
                "POST",
                f"{MAPS}?fieldManager=kubectl-client-side-apply",
                remembered({"a": "1", "b": "2"}),
            ),
            # What kubectl makes of its own entry before it applies.
            Step(
                "PATCH",
                f"{MAPS}/a",
                {"metadata": {"managedFields": [entry("kubectl", "Apply", "a", "b")]}},
                MERGE,
            ),
            applied("kubectl", config({"a": "1"})),
            Step("GET", f"{MAPS}/a"),
            Step("DELETE", f"{MAPS}/a"),
        ],
    ),
    Case(
        "autoscalers of two versions",
        [
            applied("m", autoscaler("v1", targetCPUUtilizationPercentage=50), path=V1),
            *LOOK,
            applied("m", autoscaler("v2", metrics=[metric("cpu", 60)]), path=V2),
            *LOOK,
            applied("n", autoscaler("v1", targetCPUUtilizationPercentage=70), path=V1),
            applied("n", autoscaler("v1", targetCPUUtilizationPercentage=70), "&force=true", V1),
            *LOOK,
            applied("m", autoscaler("v2", minReplicas=2), path=V2),
            *LOOK,
            Step("PATCH", f"{V1}/a?fieldManager=p", {"spec": {"maxReplicas": 9}}, MERGE),
            *LOOK,
            Step(
                "PATCH",
                f"{V2}/a?fieldManager=p",
                {"spec": {"maxReplicas": 8, "metrics": [metric("memory", 5)]}},
                MERGE,
            ),
            *LOOK,
            applied("n", autoscaler("v2", minReplicas=2, maxReplicas=8), path=V2),
            *LOOK,
            applied("n", autoscaler("v1", maxReplicas=8), path=V1),
            *LOOK,
            Step("DELETE", f"{V1}/a"),
        ],
    ),
    Case(
        "events of two groups",
        [
            Step(
                "POST",
                f"{EVENTS}?fieldManager=o",
                {
                    "metadata": {"name": "a"},
                    "involvedObject": {"namespace": "{ns}", "kind": "Pod", "name": "p"},
                    "reason": "R",
                    "message": "m",
                    "type": "Normal",
                },
            ),
            Step("GET", f"{NEW_EVENTS}/a"),
            Step("PATCH", f"{EVENTS}/a?fieldManager=p", {"message": "n"}, MERGE),
            Step("GET", f"{NEW_EVENTS}/a"),
            Step("DELETE", f"{EVENTS}/a"),
        ],
    ),
]
