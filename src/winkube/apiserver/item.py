"""One stored object as the cache holds it: bytes, with the few facts that selectors look at.

The bytes are what clients receive. They are parsed only when somebody needs the object, and what
selectors need is kept after the first time; the parsed object is not.
"""

from typing import Any, Final

import orjson

from winkube.base.types import JsonObject

# Every path any built-in kind's field selector names, as (parent, children); see
# k8s.io/kubernetes: pkg/apis/core/v1/conversion.go and its neighbours.
_SELECTABLE: Final = (
    (
        "spec",
        (
            "nodeName",
            "restartPolicy",
            "schedulerName",
            "serviceAccountName",
            "hostNetwork",
            "unschedulable",
            "signerName",
            "clusterIP",
            "type",
            "parentRef",
            "driver",
        ),
    ),
    (
        "status",
        (
            "phase",
            "podIP",
            "podIPs",
            "nominatedNodeName",
            "replicas",
            "successful",
            "succeeded",
        ),
    ),
    ("source", ("component", "host")),
)
_WHOLE: Final = (
    "involvedObject",
    "regarding",
    "reason",
    "reportingComponent",
    "reportingController",
    "type",
)


class Item:
    __slots__ = ("_view", "data", "key", "name", "namespace", "revision")

    def __init__(self, key: str, data: bytes, revision: int, place: tuple[str, str]) -> None:
        self.key = key
        self.data = data
        self.revision = revision
        self.namespace, self.name = place
        self._view: JsonObject | None = None

    def load(self) -> JsonObject:
        """A fresh copy of the object: the caller may change it."""
        loaded: JsonObject = orjson.loads(self.data)
        return loaded

    @property
    def view(self) -> JsonObject:
        """Labels and selectable fields, in the object's own shape."""
        if self._view is None:
            self._view = selectable(self.load())
        return self._view

    @property
    def labels(self) -> dict[str, str]:
        labels: dict[str, str] = self.view["metadata"]["labels"]
        return labels


def selectable(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata") or {}
    view: dict[str, Any] = {
        "kind": obj.get("kind"),
        "apiVersion": obj.get("apiVersion"),
        "metadata": {
            "name": metadata.get("name", ""),
            "namespace": metadata.get("namespace", ""),
            "labels": metadata.get("labels") or {},
        },
    }
    for parent, children in _SELECTABLE:
        section = obj.get(parent)
        if isinstance(section, dict):
            view[parent] = {child: section[child] for child in children if child in section}
    for field in _WHOLE:
        if field in obj:
            view[field] = obj[field]
    return view


def with_revision(data: bytes, revision: int) -> bytes:
    """The same object under another resourceVersion (a deletion's final state)."""
    obj = orjson.loads(data)
    obj["metadata"]["resourceVersion"] = str(revision)
    return orjson.dumps(obj)
