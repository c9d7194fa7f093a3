"""What a container mounts where."""

from typing import Any, Final

from winkube.api.validation.common import check_descending, check_given
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")
_DEVICES: Final = ("persistentVolumeClaim", "ephemeral")
_DEVICE_SOURCE: Final = (
    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
)


def check_mounts(
    container: JsonObject, volumes: dict[str, JsonObject], path: str, problems: Problems
) -> None:
    mounts, devices = container.get("volumeMounts") or (), container.get("volumeDevices") or ()
    if not mounts and not devices:
        return
    raw_names = {device.get("name") for device in devices}
    raw_paths = {device.get("devicePath") for device in devices}
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        here = f"{path}.volumeMounts[{index}]"
        name, target = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            problems.required(f"{here}.name")
        if name not in volumes:
            problems.not_found(f"{here}.name", name)
        if not target:
            problems.required(f"{here}.mountPath")
        if target in seen:
            problems.invalid(f"{here}.mountPath", target, "must be unique")
        seen.add(target)
        if name in raw_names:
            problems.invalid(f"{here}.name", name, "must not already exist in volumeDevices")
        if target in raw_paths:
            text = "must not already exist as a path in volumeDevices"
            problems.invalid(f"{here}.mountPath", target, text)
        _check_options(container, mount, here, path, problems)
    _check_devices(devices, mounts, volumes, path, problems)


def _check_options(
    container: JsonObject, mount: JsonObject, here: str, path: str, problems: Problems
) -> None:
    fields = f"{path}.volumeMounts"
    if mount.get("subPath"):
        check_descending(mount["subPath"], f"{fields}.subPath", problems)
    expression = mount.get("subPathExpr")
    if expression:
        if mount.get("subPath"):
            problems.invalid(
                f"{here}.subPathExpr", expression, "subPathExpr and subPath are mutually exclusive"
            )
        check_descending(expression, f"{fields}.subPathExpr", problems)
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        check_given(propagation, _PROPAGATIONS, f"{fields}.mountPropagation", problems)
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            problems.forbidden(
                f"{fields}.mountPropagation",
                "Bidirectional mount propagation is available only to privileged containers",
            )
    if mount.get("recursiveReadOnly") is not None:
        _check_recursive(mount, f"{fields}.recursiveReadOnly", problems)


def _check_recursive(mount: JsonObject, path: str, problems: Problems) -> None:
    value = mount["recursiveReadOnly"]
    if value not in _RECURSIVE:
        problems.unsupported(path, value, _RECURSIVE)
        return
    if value == "Disabled":
        return
    if not mount.get("readOnly"):
        problems.forbidden(path, "may only be specified when readOnly is true")
    if mount.get("mountPropagation") not in (None, "None"):
        text = "may only be specified when mountPropagation is None or not specified"
        problems.forbidden(path, text)


def _check_devices(
    devices: Any, mounts: Any, volumes: dict[str, JsonObject], path: str, problems: Problems
) -> None:
    mounted = {mount.get("name") for mount in mounts}
    targets = {mount.get("mountPath") for mount in mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(devices):
        here = f"{path}.volumeDevices[{index}]"
        name, place = device.get("name") or "", device.get("devicePath") or ""
        _check_device_name(name, names, volumes, f"{here}.name", problems)
        if not place:
            problems.required(f"{here}.devicePath")
        if place in paths:
            problems.invalid(f"{here}.devicePath", place, "must be unique")
        if ".." in place.split("/"):
            problems.invalid(f"{here}.devicePath", place, "can not contain backsteps ('..')")
        else:
            paths.add(place)
        if name in mounted:
            problems.invalid(f"{here}.name", name, "must not already exist in volumeMounts")
        if place in targets:
            text = "must not already exist as a path in volumeMounts"
            problems.invalid(f"{here}.devicePath", place, text)


def _check_device_name(
    name: str, seen: set[str], volumes: dict[str, JsonObject], path: str, problems: Problems
) -> None:
    if not name:
        problems.required(path)
    elif name in seen:
        problems.invalid(path, name, "must be unique")
    seen.add(name)
    volume = volumes.get(name)
    if volume is None:
        problems.not_found(path, name)
    elif not any(volume.get(kind) is not None for kind in _DEVICES):
        problems.invalid(path, name, _DEVICE_SOURCE)
