"""Between the two forms of kinds that share a place in the store.

Events exist in the core group and in events.k8s.io; autoscalers in v1 and v2. Everything else is
stored as it is served.
"""

from collections.abc import Callable
from typing import Final

import orjson

from winkube.api.decode import clone
from winkube.api.kinds import Kind
from winkube.apiserver.form import (
    autoscaler as autoscaler_forms,
)
from winkube.apiserver.item import Item
from winkube.apiserver.served import Served
from winkube.base.types import JsonObject

Convert = Callable[[JsonObject], None]

_EVENT_FIELDS: Final = (
    # core/v1, events.k8s.io/v1
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
)


def to_stored(served: Served, obj: JsonObject) -> JsonObject:
    """The object in the form the store holds; in place."""
    if served.converts:
        _TO_STORED[served.kind.gvk](obj)
        _stamp(obj, served.stored.api_version, served.stored.kind)
    return obj


def stored_form(kind: Kind, obj: JsonObject) -> JsonObject:
    """What was served, as the store holds it: rows of a table are the same in every version."""
    convert = _TO_STORED.get(kind.gvk)
    if convert is None:
        return obj
    made: JsonObject = clone(obj)
    convert(made)
    return made


def to_served(served: Served, obj: JsonObject) -> JsonObject:
    if served.converts:
        _TO_SERVED[served.kind.gvk](obj)
        _stamp(obj, served.kind.api_version, served.kind.kind)
    return obj


def as_reread(served: Served, obj: JsonObject) -> JsonObject:
    """What becomes of an object that is stored and served again: versions say more or less."""
    if not served.converts:
        return obj
    made: JsonObject = clone(obj)
    return to_served(served, to_stored(served, made))


def as_version(kind: Kind, obj: JsonObject, version: str) -> JsonObject:
    """An object of ``kind`` in another version of it; itself where there is but one form."""
    group, _, number = version.rpartition("/")
    target = (group, number, kind.kind)
    if target == kind.gvk or not {target, kind.gvk} & _TO_STORED.keys():
        return obj
    made: JsonObject = clone(obj)
    for convert in (_TO_STORED.get(kind.gvk), _TO_SERVED.get(target)):
        if convert is not None:
            convert(made)
    return made


def item_as_served(served: Served, item: Item) -> Item:
    if not served.converts:
        return item
    data = orjson.dumps(to_served(served, item.load()))
    return Item(item.key, data, item.revision, (item.namespace, item.name))


def _stamp(obj: JsonObject, api_version: str, kind: str) -> None:
    obj["apiVersion"], obj["kind"] = api_version, kind


def _rename(obj: JsonObject, source: int) -> None:
    for names in _EVENT_FIELDS:
        if names[source] in obj:
            obj[names[1 - source]] = obj.pop(names[source])


def _event_to_core(obj: JsonObject) -> None:
    _rename(obj, 1)
    for name in ("reportingComponent", "reportingInstance"):
        obj.setdefault(name, "")
    obj.setdefault("source", {})


def _event_to_group(obj: JsonObject) -> None:
    _rename(obj, 0)
    for name in ("reportingController", "reportingInstance"):
        if obj.get(name) == "":
            del obj[name]


_TO_STORED: Final[dict[tuple[str, str, str], Convert]] = {
    ("events.k8s.io", "v1", "Event"): _event_to_core,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): autoscaler_forms.to_v2,
}
_TO_SERVED: Final[dict[tuple[str, str, str], Convert]] = {
    ("events.k8s.io", "v1", "Event"): _event_to_group,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): autoscaler_forms.to_v1,
}
