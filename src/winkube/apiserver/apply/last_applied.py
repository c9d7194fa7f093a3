"""kubectl's own note of what it applied without the server: how it comes from there to here.

What the note says and the object still has, kubectl may take from whoever owns it; and the note
stays true when the server applies for kubectl (k8s.io/apimachinery: lastappliedmanager.go,
lastappliedupdater.go).
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from winkube.api.go.text import web_safe
from winkube.api.schema import Shape
from winkube.apiserver.apply.compare import compare, stated
from winkube.apiserver.apply.declared import live_problems
from winkube.apiserver.apply.owner import Owner
from winkube.apiserver.apply.tree import Tree, difference, union
from winkube.base.types import JsonObject

MANAGER: Final = "kubectl"
_NOTE: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_NOTES: Final = 256 * 1024


def disputed(
    shape: Shape, live: JsonObject, version: str, found: Mapping[Owner, Tree]
) -> dict[Owner, Tree]:
    """What is left of conflicts when kubectl takes what it knows to be its own."""
    own = _own_fields(shape, live, version)
    left = {owner: difference(fields, own) for owner, fields in found.items()}
    return {owner: fields for owner, fields in left.items() if fields is not None}


def _own_fields(shape: Shape, live: JsonObject, version: str) -> Tree | None:
    note = _parsed(_note(live))
    if note is None or note.get("apiVersion") != version or live_problems(shape, note):
        return None
    unmanaged = {key: live["metadata"][key] for key in live["metadata"] if key != "managedFields"}
    changed, removed = compare(shape, note, {**live, "metadata": unmanaged})
    return difference(stated(shape, note), union(changed, removed))


def _note(obj: JsonObject) -> str:
    return (obj["metadata"].get("annotations") or {}).get(_NOTE) or ""


def _parsed(text: str) -> JsonObject | None:
    try:
        found: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and found.get("kind") else None


def renew_note(obj: JsonObject, wanted: JsonObject) -> None:
    """If there is one: what is applied now, unless that makes the annotations too large."""
    if not _note(obj):
        return
    metadata = dict(wanted["metadata"])
    if _NOTE in (metadata.get("annotations") or {}):
        notes = {key: text for key, text in metadata["annotations"].items() if key != _NOTE}
        metadata["annotations"] = notes
    said = {**wanted, "metadata": metadata}
    text = web_safe(orjson.dumps(said, option=orjson.OPT_SORT_KEYS).decode())
    annotations = obj["metadata"]["annotations"] = {**obj["metadata"]["annotations"]}
    annotations[_NOTE] = f"{text}\n"
    if sum(len(text.encode()) for text in (*annotations, *annotations.values())) > _MAX_NOTES:
        del annotations[_NOTE]
