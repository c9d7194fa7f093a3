"""Bodies that are acted on and not kept: evictions, bindings, tokens and reviews made wrong."""

from typing import Any

from tests.upstream.exchange import Case, Step
from tests.upstream.variants import DRY, merged

PODS = "/api/v1/namespaces/{ns}/pods"
ACCOUNTS = "/api/v1/namespaces/{ns}/serviceaccounts"
SPEC = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i:1"}]}
POD = Step("POST", PODS, {"metadata": {"name": "a"}, "spec": SPEC})
EVICTION = {
    "apiVersion": "policy/v1",
    "kind": "Eviction",
    "metadata": {"name": "a", "namespace": "{ns}"},
    "deleteOptions": {"gracePeriodSeconds": 5},
}
BINDING = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "a", "namespace": "{ns}"},
    "target": {"kind": "Node", "name": "n"},
}
TOKEN = {
    "apiVersion": "authentication.k8s.io/v1",
    "kind": "TokenRequest",
    "metadata": {"name": "default", "namespace": "{ns}"},
    "spec": {"audiences": ["a"], "expirationSeconds": 700},
}
NOBODY = {"metadata": {"name": "none"}}
# What is wrong in any of them.
COMMON: tuple[Any, ...] = (
    {}, {"unknown": 1}, {"metadata": ...}, {"metadata": None}, {"metadata": []}, {"metadata": {}},
    {"metadata": {"name": ""}}, {"metadata": {"name": "b"}}, {"metadata": {"name": 1}},
    {"metadata": {"namespace": "x"}}, {"metadata": {"namespace": ""}},
    {"metadata": {"labels": {"a": "b c"}, "annotations": {"note": "x"}}},
    {"metadata": {"uid": "x"}}, {"metadata": {"uid": 1}}, {"metadata": {"resourceVersion": "1"}},
    {"metadata": {"finalizers": ["x"], "generateName": "g", "creationTimestamp": "x"}},
    {"metadata": {"ownerReferences": [{"uid": "u"}, {"uid": "u"}], "unknown": {}}},
    {"apiVersion": ..., "kind": ...}, {"kind": "Pod"}, {"kind": "Pod", "apiVersion": "v1"},
    {"apiVersion": "x/v1"}, {"apiVersion": "policy/v1beta1"}, {"kind": 1}, {"status": {}},
    {"status": {"token": "x"}}, {"spec": {}}, {"spec": None}, {"spec": []},
)  # fmt: skip
EVICTIONS: tuple[Any, ...] = (
    {"deleteOptions": None}, {"deleteOptions": []}, {"deleteOptions": {}},
    {"deleteOptions": {"dryRun": ["x"]}}, {"deleteOptions": {"dryRun": ["All"]}},
    {"deleteOptions": {"dryRun": "All"}}, {"deleteOptions": {"gracePeriodSeconds": "x"}},
    {"deleteOptions": {"gracePeriodSeconds": -1}}, {"deleteOptions": {"propagationPolicy": "x"}},
    {"deleteOptions": {"propagationPolicy": "Orphan", "orphanDependents": True}},
    {"deleteOptions": {"preconditions": {"uid": "x"}}}, {"deleteOptions": {"kind": "Pod"}},
    {"deleteOptions": {"preconditions": {"resourceVersion": ""}}}, {"deleteOptions": {"a": 1}},
    {"deleteOptions": {"ignoreStoreReadErrorWithClusterBreakingPotential": True}},
    {"deleteOptions": {"ignoreStoreReadErrorWithClusterBreakingPotential": False}},
)  # fmt: skip
BINDINGS: tuple[Any, ...] = (
    {"target": None}, {"target": ...}, {"target": {}}, {"target": {"name": ""}}, {"target": []},
    {"target": {"kind": "Pod", "name": ""}}, {"target": {"kind": ""}}, {"target": {"kind": "\n"}},
    {"target": {"name": 1}}, {"target": {"namespace": "x", "uid": "x", "apiVersion": "x"}},
    {"target": {"name": "A_"}}, {"target": {"fieldPath": "x", "resourceVersion": "x", "z": 1}},
)  # fmt: skip
TOKENS: tuple[Any, ...] = (
    {"spec": {"audiences": ...}}, {"spec": {"audiences": []}},
    {"spec": {"audiences": [""]}},
    {"spec": {"audiences": [1]}}, {"spec": {"audiences": "a"}}, {"spec": {"audiences": ["a", "a"]}},
    {"spec": {"audiences": [None]}}, {"spec": {"expirationSeconds": ...}},
    {"spec": {"expirationSeconds": None}}, {"spec": {"expirationSeconds": 0}},
    {"spec": {"expirationSeconds": 599}}, {"spec": {"expirationSeconds": -1}},
    {"spec": {"expirationSeconds": 2**32}}, {"spec": {"expirationSeconds": 2**32 + 1}},
    {"spec": {"expirationSeconds": "700"}}, {"spec": {"expirationSeconds": 700.5}},
    {"spec": {"expirationSeconds": 2**63}}, {"spec": {"boundObjectRef": {}}},
    {"spec": {"boundObjectRef": []}}, {"spec": {"boundObjectRef": {"kind": "Pod"}}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "name": "none"}}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "name": "a", "apiVersion": "x/v1"}}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "name": "a", "apiVersion": "v2"}}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "name": "a", "apiVersion": "a/b/c"}}},
    {"spec": {"boundObjectRef": {"kind": "Pod", "name": "a", "uid": "x"}}},
    {"spec": {"boundObjectRef": {"kind": "Secret", "name": "a", "uid": 1}}},
    {"spec": {"boundObjectRef": {"kind": "x", "name": "a"}, "expirationSeconds": 1}},
    {"spec": {"boundObjectRef": {"unknown": 1}, "unknown": 1}},
)  # fmt: skip
QUERIES = (
    "?dryRun=All", "?dryRun=x", "?dryRun=All&dryRun=All", "?fieldValidation=Strict",
    "?fieldValidation=x", "?fieldManager=m", "?pretty=true", "?force=true",
)  # fmt: skip
_REVIEWS = {
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": {
        "user": "u", "resourceAttributes": {"verb": "get", "resource": "pods"},
    },
    "/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews": {
        "user": "u", "resourceAttributes": {"namespace": "{ns}", "verb": "get"},
    },
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": {
        "nonResourceAttributes": {"path": "/x", "verb": "get"},
    },
    "/apis/authentication.k8s.io/v1/tokenreviews": {"token": "x", "audiences": ["a"]},
    "/apis/authentication.k8s.io/v1/selfsubjectreviews": {},
}  # fmt: skip
_WRONG: tuple[Any, ...] = (
    {}, {"unknown": 1}, {"metadata": {"name": "a", "labels": {"a": "b c"}}},
    {"metadata": {"namespace": "x"}}, {"metadata": {"uid": "x", "creationTimestamp": None}},
    {"metadata": {"managedFields": []}}, {"metadata": []}, {"kind": "Pod"}, {"apiVersion": "v1"},
    {"spec": {"unknown": 1}}, {"spec": []}, {"spec": None}, {"spec": ...}, {"status": {"x": 1}},
    {"status": []}, {"spec": {"groups": [""]}}, {"spec": {"user": ""}}, {"spec": {"user": 1}},
    {"spec": {"resourceAttributes": {}}}, {"spec": {"nonResourceAttributes": {}}},
    {"spec": {"resourceAttributes": {"labelSelector": {"requirements": []}}}},
    {"spec": {"token": ""}}, {"spec": {"audiences": []}}, {"spec": {"extra": {"A": ["x"]}}},
)  # fmt: skip


def _posts(path: str, base: Any, rows: tuple[Any, ...], query: str = DRY) -> list[Step]:
    return [Step("POST", f"{path}{query}", merged(base, row)) for row in rows]


def _queried(path: str, base: Any) -> list[Step]:
    wrong = merged(base, {"unknown": 1})
    return [Step("POST", f"{path}{query}", wrong) for query in QUERIES if "dryRun" in query]


CASES = [
    Case(
        "evictions",
        [
            POD,
            *_posts(f"{PODS}/a/eviction", EVICTION, (*COMMON, *EVICTIONS)),
            *_queried(f"{PODS}/a/eviction", EVICTION),
            *_posts(f"{PODS}/none/eviction", EVICTION, (NOBODY,)),
            *_posts(f"{PODS}/a/eviction", EVICTION, ({"deleteOptions": {"dryRun": ["All"]}},), ""),
        ],
    ),
    Case(
        "bindings",
        [
            POD,
            *_posts(f"{PODS}/a/binding", BINDING, (*COMMON, *BINDINGS)),
            *_queried(f"{PODS}/a/binding", BINDING),
            *_posts("/api/v1/namespaces/{ns}/bindings", BINDING, (*COMMON, *BINDINGS)),
            *_posts(f"{PODS}/none/binding", BINDING, (NOBODY,)),
        ],
    ),
    Case(
        "tokens",
        [
            POD,
            *_posts(f"{ACCOUNTS}/default/token", TOKEN, (*COMMON, *TOKENS)),
            *(Step("POST", f"{ACCOUNTS}/default/token{query}", TOKEN) for query in QUERIES),
            *_posts(f"{ACCOUNTS}/none/token", TOKEN, (*COMMON, *TOKENS)),
        ],
    ),
    *(
        Case(path.rpartition("/")[2], _posts(path, {"spec": spec}, _WRONG, ""))
        for path, spec in _REVIEWS.items()
    ),
]  # fmt: skip
