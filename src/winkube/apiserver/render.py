"""From stored bytes to a response body: the object, a list, a Table, metadata only, or YAML.

Plain JSON is the stored bytes themselves, joined. Everything else has to parse them.
"""

from collections.abc import Sequence
from typing import Any, Final

import orjson

from winkube.api.errors import BadRequestError, NotAcceptableError
from winkube.api.kinds import Kind
from winkube.api.table import columns as columns_of
from winkube.api.table import row_conditions, to_row
from winkube.apiserver.form.conversion import stored_form
from winkube.apiserver.item import Item
from winkube.apiserver.media.yaml_text import to_yaml
from winkube.apiserver.negotiate import YAML, Output
from winkube.apiserver.registry.listing import ListResult
from winkube.base.clock import Clock
from winkube.base.types import JsonObject

_META_GROUP: Final = "meta.k8s.io"
# Another part of upstream's server prints these, and names the columns in every event.
_NAMES_COLUMNS: Final = "APIService"


class Renderer:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def item(
        self,
        kind: Kind,
        item: Item,
        output: Output,
        include: str = "",
        *,
        columns: bool = True,
    ) -> bytes:
        """``columns`` says whether a table names them."""
        if output.shape == "Table":
            table = self._table(kind, [item], output, include)
            table["metadata"]["resourceVersion"] = str(item.revision)
            if not columns and kind.kind != _NAMES_COLUMNS:
                table["columnDefinitions"] = None
            return encode(table, output)
        if output.shape == "PartialObjectMetadataList":
            raise _unlike(f"{output.shape}, but the requested object is not a list", kind, "")
        if output.shape:
            return encode(partial(item, output), output)
        return item.data if output.media != YAML else encode(item.load(), output)

    def listing(
        self, kind: Kind, result: ListResult, output: Output, include: str = ""
    ) -> list[bytes]:
        """The body of a list, in pieces."""
        metadata: JsonObject = {"resourceVersion": str(result.revision)}
        if result.token:
            metadata["continue"] = result.token
        if result.remaining is not None:
            metadata["remainingItemCount"] = result.remaining
        if output.shape == "Table":
            table = self._table(kind, result.items, output, include)
            table["metadata"] = metadata
            return [encode(table, output)]
        if output.shape == "PartialObjectMetadata":
            raise _unlike(f"{output.shape}, but the requested object is a list", kind, "List")
        if output.shape:
            shown: JsonObject = {
                "kind": "PartialObjectMetadataList",
                "apiVersion": f"{_META_GROUP}/{output.version}",
                "metadata": metadata,
                "items": [partial(item, output) for item in result.items] or None,
            }
            return [encode(shown, output)]
        pieces = list_pieces(kind, metadata, result.items)
        if output.media == YAML:
            return [encode(orjson.loads(b"".join(pieces)), output)]
        return pieces

    def _table(self, kind: Kind, items: Sequence[Item], output: Output, include: str) -> JsonObject:
        check_include(include)
        shown = columns_of(kind)
        rows = [self._row(kind, item, output, include) for item in _in_order(kind, items)]
        return {
            "kind": "Table",
            "apiVersion": f"{_META_GROUP}/{output.version}",
            "metadata": {},
            "columnDefinitions": shown,
            # Kinds that nobody wrote a printer for have no rows rather than none.
            "rows": rows or (None if shown[-1]["name"] == "Created At" else rows),
        }

    def _row(self, kind: Kind, item: Item, output: Output, include: str) -> JsonObject:
        obj = item.load()
        printed = stored_form(kind, obj)
        row: JsonObject = {"cells": to_row(kind, printed, self._clock)}
        conditions = row_conditions(kind, printed)
        if conditions:
            row["conditions"] = conditions
        if include == "Object":
            row["object"] = obj
        else:
            row["object"] = None if include == "None" else _partial(obj, output)
        return row


_INCLUDED: Final = ("Object", "Metadata", "None", "")


def check_include(include: str) -> None:
    if include not in _INCLUDED:
        shown = orjson.dumps(include).decode()
        text = f"Invalid value: {shown}: must be 'Metadata', 'Object', 'None', or empty"
        raise BadRequestError(f"Unable to convert to Table as requested: includeObject: {text}")


_PACKAGES: Final = {"": "core", "rbac.authorization.k8s.io": "rbac"}


def _unlike(what: str, kind: Kind, suffix: str) -> NotAcceptableError:
    package = _PACKAGES.get(kind.group, kind.group.partition(".")[0])
    return NotAcceptableError(f"you requested {what} (*{package}.{kind.kind}{suffix})")


def _in_order(kind: Kind, items: Sequence[Item]) -> Sequence[Item]:
    """Flow schemas are shown in the order they are tried."""
    if kind.kind != "FlowSchema":
        return items
    return sorted(items, key=lambda item: (item.load()["spec"]["matchingPrecedence"], item.name))


def partial(item: Item, output: Output) -> JsonObject:
    return _partial(item.load(), output)


def _partial(obj: JsonObject, output: Output) -> JsonObject:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"{_META_GROUP}/{output.version}",
        "metadata": _shown_metadata(obj),
    }


# Annotations that stand for fields of another version: not part of the metadata alone.
_FIELDS_AS_NOTES: Final = {
    "DaemonSet": ("deprecated.daemonset.template.generation",),
    "HorizontalPodAutoscaler": (
        "autoscaling.alpha.kubernetes.io/conditions",
        "autoscaling.alpha.kubernetes.io/current-metrics",
        "autoscaling.alpha.kubernetes.io/metrics",
        "autoscaling.alpha.kubernetes.io/behavior",
    ),
}


def _shown_metadata(obj: JsonObject) -> JsonObject:
    metadata: JsonObject = obj["metadata"]
    hidden = _FIELDS_AS_NOTES.get(obj.get("kind", ""))
    notes = metadata.get("annotations")
    if not hidden or not notes:
        return metadata
    shown = {key: notes[key] for key in notes if key not in hidden}
    rest = {key: metadata[key] for key in metadata if key != "annotations"}
    return {**rest, "annotations": shown} if shown else rest


def list_pieces(kind: Kind, metadata: JsonObject, items: Sequence[Item]) -> list[bytes]:
    head = b'{"kind":"%b","apiVersion":"%b","metadata":%b,"items":[' % (
        f"{kind.kind}List".encode(),
        kind.api_version.encode(),
        orjson.dumps(metadata),
    )
    pieces = [head]
    start = b'{"kind":"%b","apiVersion":"%b",' % (kind.kind.encode(), kind.api_version.encode())
    length = len(start)
    for item in items:
        data = item.data
        rest = data[length:] if data.startswith(start) else _untyped(data)
        pieces += (b"{", rest, b",")
    if items:
        pieces.pop()
    pieces.append(b"]}\n")
    return pieces


def _untyped(data: bytes) -> bytes:
    """The object without its kind and version, and without the brace it begins with."""
    obj = orjson.loads(data)
    obj.pop("kind", None)
    obj.pop("apiVersion", None)
    return orjson.dumps(obj)[1:]


def encode(document: Any, output: Output) -> bytes:
    if output.media == YAML:
        return to_yaml(document)
    return orjson.dumps(document)
