"""What a bookmark holds: an object of the kind in which nobody set anything but the revision.

Clients read nothing else of it; but it is written as the kind's Go struct is, and typed clients
decode it as such.
"""

from typing import TYPE_CHECKING, Final

import orjson

from winkube.api.kinds import Kind
from winkube.api.roundtrip import round_trip
from winkube.api.schema import Schema
from winkube.apiserver.item import Item

if TYPE_CHECKING:
    from winkube.base.types import JsonObject

_INITIAL_END: Final = "k8s.io/initial-events-end"
# Numbers that upstream's own form of a kind cannot leave open: they come out as zeros.
_SIZED: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet"})
_GENERATION: Final = "deprecated.daemonset.template.generation"


class Bookmarks:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def item(self, kind: Kind, revision: int, *, initial_end: bool) -> Item:
        metadata: JsonObject = {"resourceVersion": str(revision)}
        notes = {_GENERATION: "0"} if kind.kind == "DaemonSet" else {}
        if initial_end:
            notes[_INITIAL_END] = "true"
        if notes:
            metadata["annotations"] = notes
        obj: JsonObject = {
            "kind": kind.kind,
            "apiVersion": kind.api_version,
            "metadata": metadata,
        }
        round_trip(self._schema, kind, obj)
        if kind.kind in _SIZED:
            obj["spec"]["replicas"] = 0
        return Item("", orjson.dumps(obj), revision, ("", ""))
