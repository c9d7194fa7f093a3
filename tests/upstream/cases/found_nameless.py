"""Objects that are written without a name, or with another one: there already, or not yet."""

from typing import Any

from tests.upstream.exchange import APPLY, MERGE, Case, Step
from tests.upstream.variants import DRY

CONTAINERS = [{"name": "c", "image": "i:1"}]
CORE, APPS = "/api/v1/namespaces/{ns}", "/apis/apps/v1/namespaces/{ns}"
LABELS = {"app": "a"}
BODIES: tuple[tuple[str, dict[str, Any]], ...] = (
    (f"{CORE}/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}}),
    (
        f"{CORE}/services",
        {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}},
    ),
    (
        f"{APPS}/deployments",
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "spec": {
                "selector": {"matchLabels": LABELS},
                "template": {"metadata": {"labels": LABELS}, "spec": {"containers": CONTAINERS}},
            },
        },
    ),
    (
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1},
    ),
)
# What admission refuses: it comes after the name.
REFUSED = {
    "apiVersion": "v1",
    "kind": "Pod",
    "spec": {"preemptionPolicy": "Never", "containers": CONTAINERS},
}
# What is invalid: it is found out last.
WRONG = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a b": "v"}}
NAMES: tuple[dict[str, Any], ...] = (
    {},
    {"metadata": None},
    {"metadata": {}},
    {"metadata": {"name": None}},
    {"metadata": {"name": ""}},
    {"metadata": {"name": "other"}},
    {"metadata": {"labels": LABELS}},
    {"metadata": {"generateName": "found-nameless-"}},
    {"metadata": {"namespace": "elsewhere"}},
    {"metadata": {"name": "found-nameless", "namespace": "elsewhere"}},
    {"metadata": {"name": "found-nameless", "uid": "x"}},
    {"metadata": {"uid": "x"}},
    {"metadata": {"name": "found-nameless"}},
)


def applied(path: str, body: dict[str, Any]) -> list[Step]:
    item = f"{path}/found-nameless{DRY}&fieldManager=m&force=true"
    return [Step("PATCH", item, {**body, **name}, APPLY) for name in NAMES]


def replaced(path: str, body: dict[str, Any]) -> list[Step]:
    item = f"{path}/found-nameless{DRY}"
    return [Step("PUT", item, {**body, **name}) for name in NAMES]


def merged(path: str) -> list[Step]:
    item = f"{path}/found-nameless{DRY}"
    return [Step("PATCH", item, name, MERGE) for name in NAMES]


def made_with_uid(path: str, body: dict[str, Any]) -> Step:
    named = {"metadata": {"name": "found-nameless", "uid": "x"}}
    return Step("PUT", f"{path}/found-nameless", {**body, **named})


CASES = [
    *(
        Case(
            f"{body['kind']} without a name",
            [
                *applied(path, body),
                *replaced(path, body),
                *merged(path),
                made_with_uid(path, body),
                Step("POST", path, {**body, "metadata": {"name": "found-nameless"}}),
                *applied(path, body),
                *replaced(path, body),
                *merged(path),
                Step("DELETE", f"{path}/found-nameless"),
            ],
        )
        for path, body in BODIES
    ),
    Case("a pod that is refused without a name", applied(f"{CORE}/pods", REFUSED)),
    Case("a map that is wrong without a name", applied(f"{CORE}/configmaps", WRONG)),
]
