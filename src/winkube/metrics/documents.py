"""The objects of metrics.k8s.io/v1beta1, as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from winkube.api.go.duration import format_duration
from winkube.api.meta import labels_of, name_of
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.metrics.figures import Figure

GROUP: Final = "metrics.k8s.io"
VERSION: Final = "v1beta1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
_NANO: Final = 10**9
_KI: Final = 1024

RESOURCES: Final[JsonObject] = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": API_VERSION,
    "resources": [
        {
            "name": plural,
            "singularName": "",
            "namespaced": namespaced,
            "kind": kind,
            "verbs": ["get", "list"],
        }
        for plural, namespaced, kind in (
            ("nodes", False, "NodeMetrics"),
            ("pods", True, "PodMetrics"),
        )
    ],
}
_VERSION_JSON: Final = {"groupVersion": API_VERSION, "version": VERSION}
API_GROUP: Final[JsonObject] = {
    "name": GROUP,
    "versions": [_VERSION_JSON],
    "preferredVersion": _VERSION_JSON,
}


def usage(figure: Figure) -> JsonObject:
    return {"cpu": f"{figure.cpu}n", "memory": f"{figure.memory // _KI}Ki"}


def node_metrics(node: JsonObject, figure: Figure, now: float) -> JsonObject:
    return _measured("NodeMetrics", node, figure, now) | {"usage": usage(figure)}


def pod_metrics(pod: JsonObject, figures: Mapping[str, Figure], now: float) -> JsonObject:
    oldest = min(figures.values(), key=lambda figure: figure.at)
    containers = [{"name": name, "usage": usage(figure)} for name, figure in figures.items()]
    return _measured("PodMetrics", pod, oldest, now) | {"containers": containers}


def _measured(kind: str, obj: JsonObject, figure: Figure, now: float) -> JsonObject:
    return {
        "kind": kind,
        "apiVersion": API_VERSION,
        "metadata": _metadata(obj, now),
        "timestamp": to_rfc3339(figure.at / _NANO),
        "window": format_duration(_millis(figure.window)),
    }


def _millis(nanoseconds: int) -> int:
    return nanoseconds // 1_000_000 * 1_000_000


def _metadata(obj: JsonObject, now: float) -> JsonObject:
    metadata: JsonObject = {"name": name_of(obj)}
    if obj["metadata"].get("namespace"):
        metadata["namespace"] = obj["metadata"]["namespace"]
    metadata["creationTimestamp"] = to_rfc3339(now)
    if labels_of(obj):
        metadata["labels"] = labels_of(obj)
    return metadata


def listing(kind: str, items: Sequence[JsonObject]) -> JsonObject:
    return {
        "kind": f"{kind}List",
        "apiVersion": API_VERSION,
        "metadata": {},
        "items": [
            {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}
            for item in items
        ],
    }


def table(items: Sequence[JsonObject], *, listed: bool) -> JsonObject:
    """For ``kubectl get``: one column for each of the figures."""
    names = ("Name", "cpu", "memory", "Window")
    columns = [
        {
            "name": name,
            "type": "string",
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": 0,
        }
        for name in names
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {} if listed else items[0]["metadata"],
        "columnDefinitions": columns,
        "rows": [{"cells": _cells(item), "object": _partial(item)} for item in items],
    }


def _cells(item: JsonObject) -> list[Any]:
    usages = [entry["usage"] for entry in item.get("containers") or [item]]
    cpu = sum(int(each["cpu"].removesuffix("n")) for each in usages)
    memory = sum(int(each["memory"].removesuffix("Ki")) for each in usages)
    return [item["metadata"]["name"], f"{cpu}n", f"{memory}Ki", item["window"]]


def _partial(item: JsonObject) -> JsonObject:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": item["metadata"],
    }
