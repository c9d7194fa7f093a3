"""Parts of objects written by who means another object of the name: its uid, its end, its birth."""

from typing import Any

from tests.upstream.exchange import JSON_PATCH, MERGE, STRATEGIC, Case, Step
from tests.upstream.variants import PODS, pod

WORKLOADS = "/apis/apps/v1/namespaces/{ns}"
TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i:1"}]},
}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
BUDGET = {"selector": {"matchLabels": {"a": "b"}}, "minAvailable": 1}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
WRITTEN: tuple[dict[str, Any], ...] = (
    {"uid": "other"},
    {"uid": ""},
    {"deletionGracePeriodSeconds": 5},
    {"creationTimestamp": "2020-01-01T00:00:00Z"},
    {"deletionTimestamp": "2020-01-01T00:00:00Z"},
    {"generation": 7},
)


def _asked(path: str, made: Any, *parts: str) -> list[Step]:
    """Every part with each of these, and the object afterwards."""
    item = f"{path}/o"
    return [
        Step("POST", path, made),
        *(
            Step("PATCH", f"{item}/{part}", {"metadata": written}, MERGE)
            for part in parts
            for written in WRITTEN
        ),
        Step("PATCH", f"{item}/{parts[0]}", {"metadata": {"uid": "other"}}, STRATEGIC),
        Step(
            "PATCH",
            f"{item}/{parts[0]}",
            [{"op": "replace", "path": "/metadata/uid", "value": "other"}],
            JSON_PATCH,
        ),
        Step("GET", item),
    ]


def _named(spec: Any) -> Any:
    return {"metadata": {"name": "o"}, "spec": spec}


CASES = [
    Case(
        "parts of another pod",
        _asked(
            PODS,
            {**pod(), "metadata": {"name": "o"}},
            "status",
            "ephemeralcontainers",
            "resize",
        ),
        managed=False,
    ),
    *(
        Case(
            f"parts of another: {plural}",
            _asked(f"{WORKLOADS}/{plural}", _named({**SELECTED, **more}), "status", *parts),
            managed=False,
        )
        for plural, more, parts in (
            ("deployments", {}, ("scale",)),
            ("replicasets", {}, ("scale",)),
            ("statefulsets", {"serviceName": "s"}, ("scale",)),
            ("daemonsets", {}, ()),
        )
    ),
    Case(
        "parts of another budget",
        _asked("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets", _named(BUDGET), "status"),
        managed=False,
    ),
    Case(
        "parts of another claim",
        _asked("/api/v1/namespaces/{ns}/persistentvolumeclaims", _named(CLAIM), "status"),
        managed=False,
    ),
    Case(
        "parts of another quota",
        _asked("/api/v1/namespaces/{ns}/resourcequotas", _named({"hard": {"pods": "1"}}), "status"),
        managed=False,
    ),
    Case(
        "parts of another service",
        _asked("/api/v1/namespaces/{ns}/services", _named({"ports": [{"port": 1}]}), "status"),
        managed=False,
    ),
]
