"""Rows for ``kubectl get``: columns and cells by kind, as upstream prints them."""

import functools
from typing import Any

from winkube.api.kinds import Kind
from winkube.api.meta import metadata, name_of
from winkube.api.printing.age import age_of
from winkube.api.printing.pod import row_conditions as pod_row_conditions
from winkube.api.printing.registry import PRINTERS
from winkube.base.clock import Clock
from winkube.base.types import JsonObject

_NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some "
    "resources may allow a client to request the generation of an appropriate name automatically."
)
_DEFAULT = ("Name", "Age")


def columns(kind: Kind) -> list[JsonObject]:
    """TableColumnDefinitions; a priority above 0 shows with ``-o wide`` only."""
    printer = PRINTERS.get((kind.group, kind.kind))
    headers = printer.headers if printer is not None else _DEFAULT
    return [dict(_column(header)) for header in headers]


def to_row(kind: Kind, obj: JsonObject, clock: Clock) -> list[Any]:
    """The cells of one object, one for each column."""
    printer = PRINTERS.get((kind.group, kind.kind))
    now = clock.now()
    if printer is None:
        return [name_of(obj), age_of(metadata(obj).get("creationTimestamp"), now)]
    return printer.cells(obj, now)


def row_conditions(kind: Kind, obj: JsonObject) -> list[JsonObject]:
    """Conditions of a TableRow; only finished pods have one."""
    return pod_row_conditions(obj) if (kind.group, kind.kind) == ("", "Pod") else []


_TYPES = {"#": "integer", "?": "boolean", "@": "date", "=": "string"}
_NAMES = frozenset({"Name", "Attacher="})  # columns that hold names of objects


@functools.cache
def _column(header: str) -> JsonObject:
    """``+Name`` is wide only; a last sign says the column's type."""
    wide, text = header.startswith("+"), header.removeprefix("+")
    type_ = _TYPES.get(text[-1], "string")
    title = text[:-1] if text[-1] in _TYPES else text
    return {
        "name": title,
        "type": type_,
        "format": "name" if text in _NAMES else "",
        "description": _NAME_DESCRIPTION if title == "Name" else "",
        "priority": 1 if wide else 0,
    }
