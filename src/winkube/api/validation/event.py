"""Events of both groups: an old client's word is taken for much, a new one's is checked."""

from typing import Final

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
    core = "involvedObject" in obj
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
