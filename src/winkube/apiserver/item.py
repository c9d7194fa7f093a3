"""One stored object as the cache holds it: bytes, with the few facts that selectors look at.

The bytes are what clients receive. They are parsed only when somebody needs the object, and what
selectors need is kept after the first time; the parsed object is not.
"""

from collections.abc import Mapping
from typing import Any, Final, TypedDict, cast

import msgspec
import orjson

from winkube.base.types import JsonObject


class _Metadata(TypedDict, total=False):
    name: str
    namespace: str
    labels: dict[str, str] | None


# Every path any built-in kind's field selector names; see k8s.io/kubernetes:
# pkg/apis/core/v1/conversion.go and its neighbours.
class _Spec(TypedDict, total=False):
    nodeName: Any
    restartPolicy: Any
    schedulerName: Any
    serviceAccountName: Any
    hostNetwork: Any
    unschedulable: Any
    signerName: Any
    clusterIP: Any
    type: Any
    parentRef: Any
    driver: Any


class _Status(TypedDict, total=False):
    phase: Any
    podIP: Any
    podIPs: Any
    nominatedNodeName: Any
    replicas: Any
    successful: Any
    succeeded: Any


class _Source(TypedDict, total=False):
    component: Any
    host: Any


class _View(TypedDict, total=False):
    kind: Any
    apiVersion: Any
    metadata: _Metadata
    spec: _Spec | None
    status: _Status | None
    source: _Source | None
    involvedObject: Any
    regarding: Any
    reason: Any
    reportingComponent: Any
    reportingController: Any
    type: Any


_VIEW: Final = msgspec.json.Decoder(_View)
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


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
            self._view = _seen(self.data)
        return self._view

    @property
    def labels(self) -> dict[str, str]:
        labels: dict[str, str] = self.view["metadata"]["labels"]
        return labels


def _seen(data: bytes) -> JsonObject:
    """Reads over everything else: this is done for every change that somebody selects."""
    view = cast("JsonObject", _VIEW.decode(data))
    metadata = view["metadata"]
    metadata.setdefault("name", "")
    metadata.setdefault("namespace", "")
    metadata["labels"] = metadata.get("labels") or {}
    return view


def fields_of(data: bytes) -> dict[str, bytes]:
    """An object's fields as text: who changes a few of many need not read and write the rest."""
    return {name: bytes(text) for name, text in _FIELDS.decode(data).items()}


def read_field(fields: Mapping[str, bytes], name: str) -> Any:
    return orjson.loads(fields.get(name, b"null"))


def made_of(fields: Mapping[str, bytes]) -> JsonObject:
    """An object to be written: its fields are not for reading."""
    return {name: orjson.Fragment(text) for name, text in fields.items()}


def with_revision(data: bytes, revision: int) -> bytes:
    """The same object under another resourceVersion (a deletion's final state)."""
    obj = orjson.loads(data)
    obj["metadata"]["resourceVersion"] = str(revision)
    return orjson.dumps(obj)
