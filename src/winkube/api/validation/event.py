"""Events of both groups: an old client's word is taken for much, a new one's is checked."""

from typing import Any, Final

from winkube.api import names
from winkube.api.meta import namespace_of
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_LIMIT: Final = 128
_NOTE_LIMIT: Final = 1024
_ELSEWHERE: Final = "does not match event.namespace"


def validate_event(obj: JsonObject, problems: Problems) -> None:
    target = obj.get("involvedObject") or obj.get("regarding") or {}
    about, own = target.get("namespace") or "", namespace_of(obj)
    path = "involvedObject.namespace"
    if not obj.get("eventTime"):
        if (about and about != own) or (not about and own not in ("", "default")):
            problems.invalid(path, about, _ELSEWHERE)
        return
    if not about and own not in ("default", "kube-system"):
        problems.invalid(path, about, _ELSEWHERE)
    core = obj.get("apiVersion") != "events.k8s.io/v1"
    component = "reportingComponent" if core else "reportingController"
    reporter = obj.get(component) or ""
    if not reporter:
        problems.required(component)
    problems.all_invalid(component, reporter, names.label_key_problems(reporter))
    for field in ("reportingInstance", "action", "reason"):
        text = obj.get(field) or ""
        if not text:
            problems.required(field)
        if len(text.encode()) > _LIMIT:
            problems.invalid(field, "", f"can have at most {_LIMIT} characters")
    note = obj.get("message" if core else "note") or ""
    if len(note.encode()) > _NOTE_LIMIT:
        problems.invalid("message", "", f"can have at most {_NOTE_LIMIT} characters")


def validate_new_event(obj: JsonObject, problems: Problems) -> None:
    """Made through the newer group: nothing of the older form may be used."""
    validate_event(obj, problems)
    _check_metadata_again(obj, problems)
    _check_series(obj, problems)
    if not obj.get("eventTime"):
        problems.required("eventTime")
    kind = obj.get("type") or ""
    if kind not in ("Normal", "Warning"):
        problems.invalid("type", "", f"has invalid value: {kind}")
    for field, shown in (
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
    ):
        if obj.get(field):
            problems.invalid(shown, "", "needs to be unset")
    source = obj.get("deprecatedSource") or {}
    if source.get("component") or source.get("host"):
        problems.invalid("source", "", "needs to be unset")


def _check_metadata_again(obj: JsonObject, problems: Problems) -> None:
    """The name's own rule, which the older group does not have."""
    name = (obj.get("metadata") or {}).get("name") or ""
    problems.all_invalid("metadata.name", name, names.dns_subdomain_problems(name))


def _check_series(obj: JsonObject, problems: Problems) -> None:
    series = obj.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        problems.invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        problems.required("series.lastObservedTime")


# The newer group's field, the older one's name of it, and what an unset one is.
_FIXED: Final = (
    ("regarding", "involvedObject", None),
    ("reason", "reason", ""),
    ("note", "message", ""),
    ("deprecatedSource", "source", None),
    ("deprecatedFirstTimestamp", "firstTimestamp", None),
    ("deprecatedLastTimestamp", "lastTimestamp", None),
    ("deprecatedCount", "count", 0),
    ("reason", "reason", ""),
    ("type", "type", ""),
    ("eventTime", "eventTime", None),
    ("action", "action", ""),
    ("related", "related", None),
    ("reportingController", "reportingController", ""),
    ("reportingInstance", "reportingInstance", ""),
)


def validate_event_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    validate_event(new, problems)
    if new.get("series") != old.get("series"):
        _check_series(new, problems)
    for field, shown, zero in _FIXED:
        now = new.get(field) or zero
        if now != (old.get(field) or zero):
            problems.invalid(shown, _internal(field, now), "field is immutable")


def _internal(field: str, value: Any) -> Any:
    if field in ("regarding", "related") and value is not None:
        names_ = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
        shown = {"uid": "UID", "apiVersion": "APIVersion"}
        return {shown.get(key, key[0].upper() + key[1:]): value.get(key) or "" for key in names_}
    if field == "deprecatedSource":
        source = value or {}
        return {"Component": source.get("component") or "", "Host": source.get("host") or ""}
    return value
