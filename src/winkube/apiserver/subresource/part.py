"""Parts of objects that are written like the object itself but change only their own fields."""

from typing import Final

from winkube.api.kinds import Kind
from winkube.apiserver.registry.gated import drop_gated
from winkube.apiserver.registry.prepare import free_metadata, judged_metadata
from winkube.apiserver.registry.update import STATUS, Part
from winkube.base.types import JsonObject

_RESIZED: Final = ("containers", "initContainers")


def _restore(new: JsonObject, old: JsonObject) -> None:
    metadata = judged_metadata(new, old)
    new.clear()
    new.update(old)
    new["metadata"] = metadata


def _finalize(kind: Kind, new: JsonObject, old: JsonObject) -> None:
    finalizers = (new.get("spec") or {}).get("finalizers") or []
    metadata = free_metadata(new, old)
    _restore(new, old)
    new["metadata"] = metadata
    new["spec"] = {**(old.get("spec") or {}), "finalizers": finalizers}
    if not finalizers:
        new["spec"].pop("finalizers")


def _ephemeral(kind: Kind, new: JsonObject, old: JsonObject) -> None:
    containers = (new.get("spec") or {}).get("ephemeralContainers") or []
    _restore(new, old)
    new["spec"] = {**old["spec"], "ephemeralContainers": containers}
    if not containers:
        del new["spec"]["ephemeralContainers"]
    drop_gated(kind, new)
    _next_generation(new, old)


def _resize(kind: Kind, new: JsonObject, old: JsonObject) -> None:
    """Resources and how they are resized are taken, by place, where the containers are the same."""
    fresh = new.get("spec") or {}
    if any(len(fresh.get(field) or ()) != len(old["spec"].get(field) or ()) for field in _RESIZED):
        return  # refused for it, and looked at as it is
    _restore(new, old)
    new["spec"] = {**old["spec"]}
    for field in _RESIZED:
        wanted, had = fresh.get(field) or [], old["spec"].get(field) or []
        if [entry.get("name") for entry in wanted] != [entry.get("name") for entry in had]:
            new["spec"][field] = wanted
            continue
        if had:
            pairs = zip(wanted, had, strict=True)
            new["spec"][field] = [_resized(*pair) for pair in pairs]
    drop_gated(kind, new)
    _next_generation(new, old)


def _resized(wanted: JsonObject, container: JsonObject) -> JsonObject:
    made = {**container, "resources": wanted.get("resources") or {}}
    made.pop("resizePolicy", None)
    if wanted.get("resizePolicy"):
        made["resizePolicy"] = wanted["resizePolicy"]
    return made


def _approval(kind: Kind, new: JsonObject, old: JsonObject) -> None:
    conditions = (new.get("status") or {}).get("conditions")
    metadata = free_metadata(new, old)
    _restore(new, old)
    new["metadata"] = metadata
    new["status"] = {**(old.get("status") or {}), "conditions": conditions}
    if not conditions:
        new["status"].pop("conditions")


def _next_generation(new: JsonObject, old: JsonObject) -> None:
    if new["spec"] != old["spec"]:
        new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


PARTS: Final = {
    ("*", "status"): STATUS,
    ("namespaces", "finalize"): Part("finalize", _finalize),
    ("pods", "ephemeralcontainers"): Part("ephemeralcontainers", _ephemeral),
    ("pods", "resize"): Part("resize", _resize),
    ("certificatesigningrequests", "approval"): Part("approval", _approval),
}
