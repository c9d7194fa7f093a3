"""Flow schemas and priority levels: the built-in ones, and what may be set beside them."""

from typing import Any

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.objects import SAMPLE
from tests.upstream.variants import DRY, merged, posts

SCHEMAS = SAMPLE["FlowSchema"].path
LEVELS = SAMPLE["PriorityLevelConfiguration"].path
TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}


def rows(kind: str, *changes: Any) -> Case:
    sample = SAMPLE[kind]
    return posts(kind, sample.path, [merged(sample.named(), row) for row in changes])


RESOURCES = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
RULE: dict[str, Any] = {
    "subjects": [{"kind": "User", "user": {"name": "u"}}],
    "resourceRules": [RESOURCES],
}
PAGES = {"verbs": ["*"], "nonResourceURLs": ["*"]}


def rule(**row: Any) -> Any:
    return {"spec": {"rules": [merged(RULE, row)]}}


def resources(**row: Any) -> Any:
    return {"spec": {"rules": [{**RULE, "resourceRules": [merged(RESOURCES, row)]}]}}


def pages(**row: Any) -> Any:
    only = {"subjects": RULE["subjects"], "nonResourceRules": [merged(PAGES, row)]}
    return {"spec": {"rules": [only]}}


def limited(**row: Any) -> Any:
    return {"spec": {"limited": row}}


CASES = [
    Case(
        "built in",
        [
            Step("GET", SCHEMAS + "?fieldSelector=metadata.name%3Dexempt"),
            *(Step("GET", f"{SCHEMAS}/{name}") for name in ("exempt", "catch-all", "probes")),
            *(Step("GET", f"{LEVELS}/{name}") for name in ("exempt", "catch-all", "system")),
            Step("DELETE", f"{SCHEMAS}/exempt{DRY}"),
            Step("PATCH", f"{SCHEMAS}/exempt{DRY}", {"spec": {"matchingPrecedence": 5}}, MERGE),
            Step("PATCH", f"{SCHEMAS}/catch-all{DRY}", {"spec": {"matchingPrecedence": 5}}, MERGE),
            Step(
                "PATCH",
                f"{LEVELS}/exempt{DRY}",
                {"spec": {"exempt": {"nominalConcurrencyShares": 5}}},
                MERGE,
            ),
            Step("PATCH", f"{LEVELS}/exempt{DRY}", {"spec": {"type": "Limited"}}, MERGE),
            Step(
                "PATCH",
                f"{LEVELS}/catch-all{DRY}",
                {"spec": {"limited": {"nominalConcurrencyShares": 7}}},
                MERGE,
            ),
            *(
                Step("POST", f"{path}{DRY}", {"metadata": {"name": name}, **SAMPLE[kind].body})
                for path, kind in ((SCHEMAS, "FlowSchema"), (LEVELS, "PriorityLevelConfiguration"))
                for name in ("exempt", "catch-all")
            ),
        ],
        managed=False,
    ),
    Case("all of them", [Step("GET", SCHEMAS), Step("GET", LEVELS)], managed=False),
    Case("tables", [Step("GET", path, headers=TABLE) for path in (SCHEMAS, LEVELS)]),
    rows(
        "FlowSchema",
        {},
        {"spec": {"matchingPrecedence": 0}},
        {"spec": {"matchingPrecedence": -1}},
        {"spec": {"matchingPrecedence": 10001}},
        {"spec": {"matchingPrecedence": 1}},
        {"spec": {"priorityLevelConfiguration": {"name": ""}}},
        {"spec": {"priorityLevelConfiguration": {"name": "A_"}}},
        {"spec": ...},
        {"spec": {"distinguisherMethod": {"type": "x"}}},
        {"spec": {"distinguisherMethod": {}}},
        {"spec": {"distinguisherMethod": {"type": "ByUser"}}},
        rule(),
        rule(subjects=[]),
        rule(subjects=[{}]),
        rule(subjects=[{"kind": "X"}]),
        rule(subjects=[{"kind": "User"}]),
        rule(subjects=[{"kind": "User", "user": {"name": ""}}]),
        rule(subjects=[{"kind": "User", "group": {"name": "x"}}]),
        rule(subjects=[{"kind": "Group", "group": {"name": ""}}]),
        rule(subjects=[{"kind": "Group", "user": {"name": "x"}}]),
        rule(subjects=[{"kind": "Group"}]),
        rule(subjects=[{"kind": "ServiceAccount"}]),
        rule(
            subjects=[{"kind": "ServiceAccount", "serviceAccount": {"name": "", "namespace": ""}}]
        ),
        rule(
            subjects=[
                {"kind": "ServiceAccount", "serviceAccount": {"name": "A_", "namespace": "B_"}}
            ]
        ),
        rule(
            subjects=[{"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "*"}}]
        ),
        rule(
            subjects=[{"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "b"}}]
        ),
        rule(
            subjects=[
                {
                    "kind": "User",
                    "user": {"name": "u"},
                    "group": {"name": "g"},
                    "serviceAccount": {"name": "s", "namespace": "n"},
                }
            ]
        ),
        rule(resourceRules=[]),
        rule(resourceRules=...),
        resources(verbs=[]),
        resources(verbs=["*", "get"]),
        resources(verbs=["x", "y"]),
        resources(verbs=["get", "get"]),
        resources(apiGroups=[]),
        resources(apiGroups=["*", "x"]),
        resources(resources=[]),
        resources(resources=["*", "x"]),
        resources(namespaces=[]),
        resources(namespaces=[], clusterScope=True),
        resources(namespaces=["*"], clusterScope=True),
        resources(namespaces=["*", "x"]),
        resources(namespaces=["A_"]),
        resources(namespaces=["a", "a"]),
        pages(),
        pages(verbs=[]),
        pages(verbs=["*", "get"]),
        pages(verbs=["x"]),
        pages(nonResourceURLs=[]),
        pages(nonResourceURLs=["*", "/x"]),
        pages(nonResourceURLs=["x"]),
        pages(nonResourceURLs=["/x/*"]),
        pages(nonResourceURLs=["/x*"]),
        pages(nonResourceURLs=["/*/x"]),
        pages(nonResourceURLs=["/x//y"]),
        pages(nonResourceURLs=["/x y"]),
        pages(nonResourceURLs=[""]),
        pages(nonResourceURLs=["/"]),
    ),
    rows(
        "PriorityLevelConfiguration",
        {},
        {"spec": ...},
        {"spec": {"type": ""}},
        {"spec": {"type": "X"}},
        {"spec": {"type": "Exempt"}},
        {"spec": {"type": "Exempt", "limited": ...}},
        {
            "spec": {
                "type": "Exempt",
                "limited": ...,
                "exempt": {"nominalConcurrencyShares": -1, "lendablePercent": 101},
            }
        },
        {"spec": {"exempt": {}}},
        limited(limitResponse=...),
        limited(limitResponse={"type": "X"}),
        limited(limitResponse={"type": "Queue"}),
        limited(limitResponse={"type": "Queue", "queuing": {}}),
        limited(
            limitResponse={
                "type": "Queue",
                "queuing": {"queues": -1, "handSize": -1, "queueLengthLimit": -1},
            }
        ),
        limited(limitResponse={"type": "Queue", "queuing": {"queues": 10000001}}),
        limited(limitResponse={"type": "Queue", "queuing": {"queues": 4, "handSize": 5}}),
        limited(limitResponse={"type": "Queue", "queuing": {"queues": 1000000, "handSize": 20}}),
        limited(limitResponse={"type": "Reject", "queuing": {}}),
        limited(nominalConcurrencyShares=0),
        limited(nominalConcurrencyShares=-1),
        limited(lendablePercent=-1),
        limited(lendablePercent=101),
        limited(borrowingLimitPercent=-1),
        limited(borrowingLimitPercent=0),
        {"spec": {"limited": ...}},
        {"spec": {"limited": {}}},
    ),
]
