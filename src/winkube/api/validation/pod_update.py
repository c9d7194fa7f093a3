"""What may change in a pod, and through which of its parts."""

from typing import Final

from winkube.api.decode import clone
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_UPDATABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate_pod_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    if after == before:
        return
    for field in ("containers", "initContainers"):
        if len(after.get(field) or ()) != len(before.get(field) or ()):
            problems.forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
    _check_deadline(after, before, problems)
    _check_only_added(after, before, problems)
    gates = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(after.get("schedulingGates") or ()):
        if gate.get("name") not in gates:
            problems.forbidden(
                f"spec.schedulingGates[{index}].name",
                f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
            )
    changed = _other_changes(after, before)
    if changed:
        shown = "\n".join(f"  {field}" for field in changed)
        problems.forbidden(
            "spec", f"pod updates may not change fields other than {_UPDATABLE}\n{shown}"
        )


def validate_ephemeral_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """Containers for debugging may be added, and stay as they are from then on."""
    after = {entry["name"]: entry for entry in _ephemeral(new)}
    for before in _ephemeral(old):
        name = before["name"]
        if name not in after:
            text = f'existing ephemeral containers "{name}" may not be removed\n'
            problems.forbidden("spec.ephemeralContainers", text)
        elif after[name] != before:
            text = f'existing ephemeral containers "{name}" may not be changed\n'
            problems.forbidden("spec.ephemeralContainers", text)


def _ephemeral(pod: JsonObject) -> list[JsonObject]:
    return (pod.get("spec") or {}).get("ephemeralContainers") or []


def validate_resize(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """Only resources reach this write; a container cannot be without what it asked for."""
    for index, container in enumerate((new.get("spec") or {}).get("containers") or ()):
        was = old["spec"]["containers"][index].get("resources") or {}
        now = container.get("resources") or {}
        for field in ("limits", "requests"):
            if set(was.get(field) or ()) - set(now.get(field) or ()):
                path = f"spec.containers[{index}].resources.{field}"
                problems.forbidden(path, f"resource {field} cannot be removed")


def _check_deadline(after: JsonObject, before: JsonObject, problems: Problems) -> None:
    path = "spec.activeDeadlineSeconds"
    now, was = after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if now is None:
        if was is not None:
            text = "must not update from a positive integer to nil value"
            problems.invalid(path, None, text)
    elif was is not None and was < now:
        problems.invalid(path, now, "must be less than or equal to previous value")


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


def _other_changes(after: JsonObject, before: JsonObject) -> list[str]:
    """Fields of the spec that differ once everything that may differ is put back."""
    munged = clone(after)
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        munged.pop(field, None)
        if field in before:
            munged[field] = before[field]
    for field in ("containers", "initContainers"):
        for container, original in zip(
            munged.get(field) or (), before.get(field) or (), strict=True
        ):
            container["image"] = original.get("image")
    grace = "terminationGracePeriodSeconds"
    if (before.get(grace) or 0) < 0 and munged.get(grace) == 1:
        munged[grace] = before[grace]
    if before.get("schedulingGates"):
        # A gated pod is not scheduled yet: where it may go can still be narrowed.
        for field in ("nodeSelector", "affinity"):
            munged.pop(field, None)
            if field in before:
                munged[field] = before[field]
    keys = sorted({*munged, *before})
    return [f"spec.{key}" for key in keys if munged.get(key) != before.get(key)]
