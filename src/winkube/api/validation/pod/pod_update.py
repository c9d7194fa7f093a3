"""What may change in a pod, and through which of its parts."""

from typing import Final

from winkube.api.decode import clone
from winkube.api.difference import difference
from winkube.api.qos import qos_class
from winkube.api.validation.common import MAX_INT32, in_range
from winkube.api.validation.pod.container import check_image_spaces
from winkube.api.validation.pod.pod_annotations import APP_ARMOR, MIRROR, check_pod_annotations
from winkube.api.validation.pod.scheduling import check_tolerations, internal_term
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_UPDATABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_TERMS: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_MUTABLE: Final = ("cpu", "memory")


def validate_pod_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    check_annotation_update(new, old, problems)
    if after == before:
        return
    for field in ("containers", "initContainers"):
        if len(after.get(field) or ()) != len(before.get(field) or ()):
            problems.forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(after.get(field) or ()):
            here = f"spec.{field}[{index}]"
            if not container.get("image"):
                problems.required(f"{here}.image")
            check_image_spaces(container, here, problems)
    if not _check_deadline(after, before, problems):
        return
    _check_only_added(after, before, problems)
    gates = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(after.get("schedulingGates") or ()):
        if gate.get("name") not in gates:
            problems.forbidden(
                f"spec.schedulingGates[{index}].name",
                f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
            )
    _check_rest(after, before, problems)


def check_annotation_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    fresh = (new.get("metadata") or {}).get("annotations") or {}
    kept = (old.get("metadata") or {}).get("annotations") or {}
    path = "metadata.annotations"
    for key, value in kept.items():
        if fresh.get(key) == value:
            continue
        if key.startswith(APP_ARMOR):
            problems.forbidden(f"{path}[{key}]", "may not remove or update AppArmor annotations")
        if key == MIRROR:
            problems.forbidden(f"{path}[{key}]", "may not remove or update mirror pod annotation")
    for key in fresh:
        if key in kept:
            continue
        if key.startswith(APP_ARMOR):
            problems.forbidden(f"{path}[{key}]", "may not add AppArmor annotations")
        if key == MIRROR:
            problems.forbidden(f"{path}[{key}]", "may not add mirror pod annotation")
    if fresh:
        check_pod_annotations(fresh, new.get("spec") or {}, path, problems)


def _check_deadline(after: JsonObject, before: JsonObject, problems: Problems) -> bool:
    """False when nothing else is looked at."""
    path = "spec.activeDeadlineSeconds"
    now, was = after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if now is None:
        if was is not None:
            text = "must not update from a positive integer to nil value"
            problems.invalid(path, None, text)
        return True
    if not 0 <= now <= MAX_INT32:
        problems.invalid(path, now, in_range(0, MAX_INT32))
        return False
    if was is not None and was < now:
        problems.invalid(path, now, "must be less than or equal to previous value")
        return False
    return True


def _check_only_added(after: JsonObject, before: JsonObject, problems: Problems) -> None:
    def identity(toleration: JsonObject) -> JsonObject:
        return {key: toleration[key] for key in toleration if key != "tolerationSeconds"}

    kept = [identity(toleration) for toleration in after.get("tolerations") or ()]
    for toleration in before.get("tolerations") or ():
        if identity(toleration) not in kept:
            problems.forbidden(
                "spec.tolerations",
                "existing toleration can not be modified except its tolerationSeconds",
            )
            return
    check_tolerations(after.get("tolerations"), "spec.tolerations", problems)


def _check_rest(after: JsonObject, before: JsonObject, problems: Problems) -> None:
    """Nothing differs once everything that may differ is put back."""
    munged = clone(after)
    for field in ("containers", "initContainers"):
        originals = before.get(field) or ()
        for container, original in zip(munged.get(field) or (), originals, strict=True):
            container["image"] = original.get("image")
    _put_back(munged, before, "activeDeadlineSeconds", "schedulingGates", "tolerations")
    grace = "terminationGracePeriodSeconds"
    if (before.get(grace) or 0) < 0 and munged.get(grace) == 1:
        munged[grace] = before[grace]
    if before.get("schedulingGates"):
        _check_gated(munged, before, problems)
    if munged != before:
        shown = difference("PodSpec", before, munged)
        text = f"pod updates may not change fields other than {_UPDATABLE}\n{shown}"
        problems.forbidden("spec", text)


def _put_back(munged: JsonObject, before: JsonObject, *fields: str) -> None:
    for field in fields:
        munged.pop(field, None)
        if field in before:
            munged[field] = before[field]


def _check_gated(munged: JsonObject, before: JsonObject, problems: Problems) -> None:
    """A gated pod is not scheduled yet: where it may go can still be narrowed."""
    now, was = munged.get("nodeSelector"), before.get("nodeSelector") or {}
    if any((now or {}).get(key) != value for key, value in was.items()):
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        problems.invalid("spec.nodeSelector", now, text)
    _put_back(munged, before, "nodeSelector")
    fresh = (munged.get("affinity") or {}).get("nodeAffinity")
    kept = (before.get("affinity") or {}).get("nodeAffinity")
    if fresh == kept:
        return
    _check_terms(fresh or {}, kept or {}, problems)
    affinity = {**(munged.get("affinity") or {})}
    _put_back(affinity, before.get("affinity") or {}, "nodeAffinity")
    if affinity or before.get("affinity") is not None:
        munged["affinity"] = affinity
    else:
        munged.pop("affinity", None)


def _check_terms(fresh: JsonObject, kept: JsonObject, problems: Problems) -> None:
    was = (kept.get(_TERMS) or {}).get("nodeSelectorTerms") or []
    now = (fresh.get(_TERMS) or {}).get("nodeSelectorTerms") or []
    path = f"spec.affinity.nodeAffinity.{_TERMS}.nodeSelectorTerms"
    if was and len(was) != len(now):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        problems.invalid(path, [internal_term(term) for term in now] or None, text)
        return
    for index, old in enumerate(was):
        if not _only_added(now[index], old):
            text = "only additions are allowed (no mutations or deletions)"
            problems.invalid(f"{path}[{index}]", internal_term(now[index]), text)


def _only_added(new: JsonObject, old: JsonObject) -> bool:
    fields = ("matchExpressions", "matchFields")
    if not any(old.get(field) for field in fields):
        return not any(new.get(field) for field in fields)
    return all(
        (new.get(field) or [])[: len(old.get(field) or ())] == (old.get(field) or [])
        for field in fields
    )


def validate_ephemeral_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """Containers for debugging may be added, and stay as they are from then on."""
    check_annotation_update(new, old, problems)
    if MIRROR in ((old.get("metadata") or {}).get("annotations") or {}):
        problems.causes.clear()
        problems.forbidden("[]", "static pods do not support ephemeral containers")
        return
    after = {entry.get("name") or "": entry for entry in _ephemeral(new)}
    for before in _ephemeral(old):
        name = before["name"]
        if name not in after:
            text = f'existing ephemeral containers "{name}" may not be removed\n'
            problems.forbidden("spec.ephemeralContainers", text)
        elif after[name] != before:
            shown = difference("EphemeralContainer", before, after[name])
            text = f'existing ephemeral containers "{name}" may not be changed\n{shown}'
            problems.forbidden("spec.ephemeralContainers", text)


def _ephemeral(pod: JsonObject) -> list[JsonObject]:
    return (pod.get("spec") or {}).get("ephemeralContainers") or []


def validate_resize(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """Only resources reach this write; a container cannot be without what it asked for."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    refusal = _resize_refusal(after, old)
    if refusal:
        problems.causes.clear()
        problems.forbidden("[]", refusal)
        return
    if qos_class(before) != qos_class(after):
        shown = (new.get("status") or {}).get("qosClass") or ""
        problems.invalid("spec", shown, "Pod QOS Class may not change as a result of resizing")
    if not _node_resizes(old):
        problems.forbidden("spec", "Pod running on node without support for resize")
    if not _check_order(after, before, problems):
        return
    for field in ("initContainers", "containers"):
        for index, container in enumerate(after.get(field) or ()):
            original = before[field][index]
            if field == "containers" or original.get("restartPolicy") == "Always":
                here = f"spec.{field}[{index}].resources"
                _check_not_removed(container, original, here, problems)
    for field, word in (("containers", ""), ("initContainers", " for sidecar containers")):
        for index, container in enumerate(after.get(field) or ()):
            _check_only_compute(container, before[field][index], word, problems)


def _resize_refusal(after: JsonObject, old: JsonObject) -> str:
    before = old.get("spec") or {}
    for spec in (before, after):
        whole = spec.get("resources") or {}
        if whole.get("requests") or whole.get("limits"):
            return "pods with pod-level resources cannot be resized"
    if MIRROR in ((old.get("metadata") or {}).get("annotations") or {}):
        return "static pods cannot be resized"
    if (before.get("os") or {}).get("name") == "windows":
        return "windows pods cannot be resized"
    return ""


def _node_resizes(pod: JsonObject) -> bool:
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if (status.get("state") or {}).get("running") is not None:
            return status.get("resources") is not None
    return True


def _check_order(after: JsonObject, before: JsonObject, problems: Problems) -> bool:
    found = len(problems.causes)
    for field in ("containers", "initContainers"):
        now, was = after.get(field) or (), before.get(field) or ()
        if len(now) != len(was):
            problems.forbidden(f"spec.{field}", f"{field} may not be added or removed on resize")
            continue
        for index, (container, original) in enumerate(zip(now, was, strict=True)):
            if container.get("name") != original.get("name"):
                text = f"{field} may not be renamed or reordered on resize"
                problems.forbidden(f"spec.{field}[{index}].name", text)
    return len(problems.causes) == found


def _check_not_removed(
    container: JsonObject, original: JsonObject, path: str, problems: Problems
) -> None:
    was, now = original.get("resources") or {}, container.get("resources") or {}
    for field in ("requests", "limits"):
        if set(was.get(field) or ()) - set(now.get(field) or ()):
            problems.forbidden(f"{path}.{field}", f"resource {field} cannot be removed")


def _check_only_compute(
    container: JsonObject, original: JsonObject, word: str, problems: Problems
) -> None:
    if word and original.get("restartPolicy") != "Always":
        if container != original:
            text = "resources for non-sidecar init containers are immutable"
            problems.forbidden("spec", text)
        return
    if _without_compute(container, original) != _without_compute(original, original):
        problems.forbidden("spec", f"only cpu and memory resources{word} are mutable")


def _without_compute(container: JsonObject, original: JsonObject) -> JsonObject:
    """What may not change: of resources those that were named before, and no claims at all."""
    was, now = original.get("resources") or {}, container.get("resources") or {}
    kept: JsonObject = {
        field: {name: now[field][name] for name in now.get(field) or () if name not in _MUTABLE}
        for field in ("requests", "limits")
        if was.get(field)
    }
    if container is original and was.get("claims"):
        kept["claims"] = was["claims"]
    return {**container, "resources": kept, "resizePolicy": container.get("resizePolicy") or []}
