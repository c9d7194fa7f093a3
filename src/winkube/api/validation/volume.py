"""Volumes of a pod, and what is mounted where."""

from collections.abc import Callable
from typing import Any, Final

from winkube.api import names
from winkube.api.validation.common import (
    check_descending,
    check_file_path,
    check_label_key,
    check_no_backsteps,
    check_one_of,
)
from winkube.api.validation.problems import Problems
from winkube.api.validation.resources import number_of
from winkube.base.types import JsonObject

_MODE_TEXT: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATHS: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate",
    "Socket",
)  # fmt: skip
_VOLUME_FIELDS: Final = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
    "metadata.uid",
)  # fmt: skip
RESOURCE_FIELDS: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
    "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip


def check_volumes(volumes: Any, path: str, problems: Problems) -> set[str]:
    """The names that mounts may refer to."""
    known: set[str] = set()
    for index, volume in enumerate(volumes or ()):
        here, name = f"{path}[{index}]", volume.get("name") or ""
        _check_sources(volume, here, problems)
        if not name:
            problems.required(f"{here}.name")
        else:
            problems.all_invalid(f"{here}.name", name, names.dns_label_problems(name))
        if name in known:
            problems.duplicate(f"{here}.name", name)
        known.add(name)
    return known


def _check_sources(volume: JsonObject, path: str, problems: Problems) -> None:
    sources = [key for key in volume if key != "name"]
    if not sources:
        problems.required(path, "must specify a volume type")
    for index, key in enumerate(sources):
        if index:
            problems.forbidden(f"{path}.{key}", "may not specify more than 1 volume type")
        elif key in _SOURCES:
            _SOURCES[key](volume[key], f"{path}.{key}", problems)


def _check_empty_dir(source: JsonObject, path: str, problems: Problems) -> None:
    if source.get("sizeLimit") is not None and number_of(source["sizeLimit"]) < 0:
        problems.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _check_host_path(source: JsonObject, path: str, problems: Problems) -> None:
    if not source.get("path"):
        problems.required(f"{path}.path")
        return
    check_no_backsteps(source["path"], f"{path}.path", problems)
    if source.get("type") not in (None, *_HOST_PATHS):
        problems.unsupported(f"{path}.type", source["type"], _HOST_PATHS)


def _check_mode(source: JsonObject, field: str, path: str, problems: Problems) -> None:
    mode = source.get(field)
    if mode is not None and not 0 <= mode <= 0o777:
        problems.invalid(f"{path}.{field}", mode, _MODE_TEXT)


def _check_items(source: JsonObject, path: str, problems: Problems) -> None:
    for index, item in enumerate(source.get("items") or ()):
        here = f"{path}.items[{index}]"
        for field in ("key", "path"):
            if not item.get(field):
                problems.required(f"{here}.{field}")
        check_file_path(item.get("path") or "", f"{here}.path", problems)
        _check_mode(item, "mode", here, problems)


def _check_secret(source: JsonObject, path: str, problems: Problems) -> None:
    if not source.get("secretName"):
        problems.required(f"{path}.secretName")
    _check_mode(source, "defaultMode", path, problems)
    _check_items(source, path, problems)


def _check_config_map(source: JsonObject, path: str, problems: Problems) -> None:
    if not source.get("name"):
        problems.required(f"{path}.name")
    _check_mode(source, "defaultMode", path, problems)
    _check_items(source, path, problems)


def _check_claim(source: JsonObject, path: str, problems: Problems) -> None:
    if not source.get("claimName"):
        problems.required(f"{path}.claimName")


def _check_downward(source: JsonObject, path: str, problems: Problems) -> None:
    _check_mode(source, "defaultMode", path, problems)
    for item in source.get("items") or ():
        _check_downward_file(item, path, problems)


def _check_downward_file(item: JsonObject, path: str, problems: Problems) -> None:
    if not item.get("path"):
        problems.required(f"{path}.path")
    check_file_path(item.get("path") or "", f"{path}.path", problems)
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        check_field_reference(field, _VOLUME_FIELDS, f"{path}.fieldRef", problems)
        if resource is not None:
            problems.invalid(
                path,
                "resource",
                "fieldRef and resourceFieldRef can not be specified simultaneously",
            )
    elif resource is not None:
        check_resource_reference(resource, f"{path}.resourceFieldRef", problems, volume=True)
    else:
        problems.required(path, "one of fieldRef and resourceFieldRef is required")
    _check_mode(item, "mode", path, problems)


def check_field_reference(
    reference: JsonObject, known: tuple[str, ...], path: str, problems: Problems
) -> None:
    text = reference.get("fieldPath") or ""
    if not text:
        problems.required(f"{path}.fieldPath")
        return
    base, bracket, rest = text.partition("['")
    if bracket and rest.endswith("']"):
        key = rest[:-2]
        if base in ("metadata.annotations", "metadata.labels"):
            lowered = key.lower() if base == "metadata.annotations" else key
            check_label_key(lowered, path, problems)
        else:
            problems.invalid(path, base, "does not support subscript")
    elif text not in known:
        problems.unsupported(f"{path}.fieldPath", text, sorted(known))


def check_resource_reference(
    reference: JsonObject, path: str, problems: Problems, *, volume: bool = False
) -> None:
    resource = reference.get("resource") or ""
    if volume and not reference.get("containerName"):
        problems.required(f"{path}.containerName")
    elif not resource:
        problems.required(f"{path}.resource")
    elif resource not in RESOURCE_FIELDS and not resource.startswith(
        ("limits.hugepages-", "requests.hugepages-")
    ):
        problems.unsupported(f"{path}.resource", resource, RESOURCE_FIELDS)
    divisor = str(reference.get("divisor") or "0")
    if resource.endswith(".cpu") and divisor not in ("0", "1", "1m"):
        problems.invalid(
            f"{path}.divisor",
            resource,
            "only divisor's values 1m and 1 are supported with the cpu resource",
        )


def _check_projected(source: JsonObject, path: str, problems: Problems) -> None:
    _check_mode(source, "defaultMode", path, problems)
    for index, entry in enumerate(source.get("sources") or ()):
        here = f"{path}.sources[{index}]"
        kinds = [key for key in entry if entry[key] is not None]
        if len(kinds) > 1:
            problems.forbidden(f"{here}.{kinds[1]}", "may not specify more than 1 volume type")
        for key in kinds[:1]:
            _check_projection(key, entry[key], f"{here}.{key}", problems)


def _check_projection(key: str, source: JsonObject, path: str, problems: Problems) -> None:
    if key in ("secret", "configMap"):
        if not source.get("name"):
            problems.required(f"{path}.name")
        _check_items(source, path, problems)
    elif key == "downwardAPI":
        for item in source.get("items") or ():
            _check_downward_file(item, path, problems)
    elif key == "serviceAccountToken":
        _check_expiration(source.get("expirationSeconds"), f"{path}.expirationSeconds", problems)
        if not source.get("path"):
            problems.required(f"{path}.path")
        else:
            check_file_path(source["path"], f"{path}.path", problems)


def _check_expiration(seconds: int | None, path: str, problems: Problems) -> None:
    if seconds is not None and seconds < 600:
        problems.invalid(path, seconds, "may not specify a duration less than 10 minutes")
    if seconds is not None and seconds > 1 << 32:
        problems.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")


_SOURCES: Final[dict[str, Callable[[Any, str, Problems], None]]] = {
    "emptyDir": _check_empty_dir,
    "hostPath": _check_host_path,
    "secret": _check_secret,
    "configMap": _check_config_map,
    "persistentVolumeClaim": _check_claim,
    "downwardAPI": _check_downward,
    "projected": _check_projected,
}


def check_mounts(container: JsonObject, known: set[str], path: str, problems: Problems) -> None:
    seen: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        here = f"{path}.volumeMounts[{index}]"
        name, target = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            problems.required(f"{here}.name")
        if name not in known:
            problems.not_found(f"{here}.name", name)
        if not target:
            problems.required(f"{here}.mountPath")
        if target in seen:
            problems.invalid(f"{here}.mountPath", target, "must be unique")
        seen.add(target)
        _check_mount_options(container, mount, here, path, problems)
    for index, device in enumerate(container.get("volumeDevices") or ()):
        here = f"{path}.volumeDevices[{index}]"
        for field in ("name", "devicePath"):
            if not device.get(field):
                problems.required(f"{here}.{field}")
        if device.get("name") not in known:
            problems.not_found(f"{here}.name", device.get("name") or "")


def _check_mount_options(
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
        choices = ("Bidirectional", "HostToContainer", "None")
        check_one_of(propagation, choices, f"{fields}.mountPropagation", problems)
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            problems.forbidden(
                f"{fields}.mountPropagation",
                "Bidirectional mount propagation is available only to privileged containers",
            )
    if mount.get("recursiveReadOnly") in ("Enabled", "IfPossible") and not mount.get("readOnly"):
        problems.forbidden(
            f"{fields}.recursiveReadOnly", "may only be specified when readOnly is true"
        )
