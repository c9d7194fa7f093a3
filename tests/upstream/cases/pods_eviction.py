"""Evictions, budgets and bindings in detail."""

from collections.abc import Callable
from typing import Any

from tests.upstream.exchange import MERGE, STRATEGIC, Answers, Case, Step
from tests.upstream.variants import PODS, pod

from winkube.base.types import JsonObject
from winkube.kubelet.pod.statuswriter import to_patch

POD = f"{PODS}/p"
BUDGETS = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
NODE = {"kind": "Node", "name": "n"}
READY = {
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}


def _evict(options: Any = None, query: str = "", **body: Any) -> Step:
    made = {"metadata": {"name": "p"}, **body}
    if options is not None:
        made["deleteOptions"] = options
    return Step("POST", f"{POD}/eviction{query}", made)


def _budget(**spec: Any) -> Step:
    body = {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, **spec}}
    return Step("POST", BUDGETS, body)


def _status(**status: Any) -> Step:
    base = {"observedGeneration": 1, "expectedPods": 1, "currentHealthy": 1, "desiredHealthy": 1}
    body = {"status": {**base, "disruptionsAllowed": 0, **status}}
    return Step("PATCH", f"{BUDGETS}/b/status", body, MERGE)


def _with_uid(answers: Answers) -> Any:
    uid = answers[0].body["metadata"]["uid"]
    return {"metadata": {"name": "p", "uid": uid}, "target": NODE}


def _bind(**body: Any) -> Step:
    return Step("POST", f"{POD}/binding", {"metadata": {"name": "p"}, "target": NODE, **body})


GATE = {"type": "example.com/gate", "status": "True"}
WAITS = {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "why"}
RUNS = {"type": "Ready", "status": "True", "observedGeneration": 1}


def _reported(ready: JsonObject, ip: str) -> Callable[[Answers], Any]:
    """What our kubelet writes."""
    scheduled = {"type": "PodScheduled", "status": "True"}
    status = {
        "phase": "Pending" if ready is WAITS else "Running",
        "conditions": [ready, scheduled],
        "podIP": ip,
        "podIPs": [{"ip": ip}],
    }
    return lambda answers: to_patch(answers[0].body["metadata"]["uid"], status)


RUNNING = [
    Step("POST", PODS, pod({"nodeName": "n"}, labels={"a": "b"})),
    Step("PATCH", f"{POD}/status", READY, MERGE),
]
CASES = [
    Case(
        "evictions with options",
        [
            *RUNNING,
            _evict({"gracePeriodSeconds": -1}, "?dryRun=All"),
            _evict({"dryRun": ["All"]}),
            _evict({"dryRun": ["Some"]}),
            _evict({"preconditions": {"uid": "other"}}),
            _evict({"preconditions": {"resourceVersion": "1"}}),
            _evict({"gracePeriodSeconds": 5}),
            Step("GET", POD),
            _evict({"gracePeriodSeconds": 0}),
            Step("GET", POD),
        ],
        managed=False,
    ),
    Case(
        "evictions that are none",
        [
            *RUNNING,
            Step("POST", f"{POD}/eviction"),
            Step("POST", f"{POD}/eviction", {}),
            Step("POST", f"{POD}/eviction", {"kind": "Pod", "apiVersion": "v1"}),
            Step("POST", f"{POD}/eviction", "x"),
            Step("GET", f"{POD}/eviction"),
            Step("DELETE", f"{POD}/eviction"),
            Step("POST", f"{PODS}/nobody/eviction", {"metadata": {"name": "nobody"}}),
        ],
        managed=False,
    ),
    Case(
        "a budget that allows none",
        [*RUNNING, _budget(minAvailable=1), _evict(), _status(), _evict(), Step("GET", POD)],
        managed=False,
    ),
    Case(
        "a budget that allows one",
        [
            *RUNNING,
            _budget(minAvailable=0),
            _status(disruptionsAllowed=1, desiredHealthy=0),
            _evict(),
            Step("GET", f"{BUDGETS}/b"),
        ],
        managed=False,
    ),
    Case(
        "two budgets for one pod",
        [
            *RUNNING,
            _budget(minAvailable=1),
            Step(
                "POST",
                BUDGETS,
                {
                    "metadata": {"name": "c"},
                    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
                },
            ),
            _evict(),
        ],
        managed=False,
    ),
    Case(
        "pods that go for free",
        [
            Step("POST", PODS, pod({"nodeName": "n"}, labels={"a": "b"})),
            _budget(minAvailable=1),
            _status(),
            _evict(),
            Step("GET", POD),
        ],
        managed=False,
    ),
    Case(
        "bindings with conditions",
        [
            Step("POST", PODS, pod()),
            _bind(metadata={"name": "p", "uid": "other"}),
            Step("POST", f"{POD}/binding?dryRun=All", _with_uid),
            Step("GET", POD),
            Step("POST", f"{POD}/binding", _with_uid),
            _bind(),
            Step("GET", POD),
            Step("DELETE", f"{POD}?gracePeriodSeconds=0"),
            _bind(),
        ],
        watch=[PODS],
        managed=False,
    ),
    Case(
        "a node that a pod was nominated for",
        [
            Step("POST", PODS, pod()),
            Step("PATCH", f"{POD}/status", {"status": {"nominatedNodeName": "n"}}, MERGE),
            _bind(),
            Step("GET", POD),
            Step("PATCH", f"{POD}/status", {"status": {"nominatedNodeName": "m"}}, MERGE),
            Step("PATCH", f"{POD}/status", {"status": {"conditions": [GATE]}}, STRATEGIC),
            Step("PATCH", f"{POD}/status", _reported(WAITS, "10.0.0.1"), STRATEGIC),
            Step("PATCH", f"{POD}/status", _reported(RUNS, "10.0.0.2"), STRATEGIC),
        ],
        watch=[PODS],
        managed=False,
    ),
    Case(
        "bindings that are none",
        [
            Step("POST", PODS, pod()),
            Step("POST", f"{POD}/binding"),
            Step("POST", f"{POD}/binding", {}),
            Step("POST", f"{POD}/binding", {"kind": "Pod", "apiVersion": "v1"}),
            Step("GET", f"{POD}/binding"),
            Step("POST", "/api/v1/namespaces/{ns}/bindings", {"target": NODE}),
            Step(
                "POST",
                "/api/v1/namespaces/{ns}/bindings",
                {"metadata": {"name": "p", "labels": {"a": "b"}}, "target": NODE},
            ),
            Step("GET", POD),
        ],
        managed=False,
    ),
]
