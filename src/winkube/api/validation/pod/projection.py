"""Files made from secrets, config maps, tokens and the pod itself."""

from typing import Any, Final

from winkube.api.field_path import FieldPathError, pod_field
from winkube.api.quantity import canonical_quantity
from winkube.api.validation.common import check_file_path, check_label_key
from winkube.api.validation.pod.resources import number_of
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_MODE_TEXT: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_VOLUME_FIELDS: Final = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
    "metadata.uid",
)  # fmt: skip
RESOURCE_FIELDS: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
    "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_UNITS: Final = (
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
)  # fmt: skip
_MEASURES: Final = {
    "memory": "memory",
    "ephemeral-storage": "local ephemeral storage",
    "hugepages": "hugepages",
}
_SAME: Final = "conflicting duplicate paths"


def check_mode(source: JsonObject, field: str, path: str, problems: Problems) -> None:
    mode = source.get(field)
    if mode is not None and not 0 <= mode <= 0o777:
        problems.invalid(f"{path}.{field}", mode, _MODE_TEXT)


def check_items(source: JsonObject, path: str, problems: Problems) -> None:
    for index, item in enumerate(source.get("items") or ()):
        here = f"{path}.items[{index}]"
        for field in ("key", "path"):
            if not item.get(field):
                problems.required(f"{here}.{field}")
        check_file_path(item.get("path") or "", f"{here}.path", problems)
        check_mode(item, "mode", here, problems)


def check_secret(source: JsonObject, path: str, problems: Problems) -> None:
    if not source.get("secretName"):
        problems.required(f"{path}.secretName")
    check_mode(source, "defaultMode", path, problems)
    check_items(source, path, problems)


def check_config_map(source: JsonObject, path: str, problems: Problems) -> None:
    if not source.get("name"):
        problems.required(f"{path}.name")
    check_mode(source, "defaultMode", path, problems)
    check_items(source, path, problems)


def check_downward(source: JsonObject, path: str, problems: Problems) -> None:
    check_mode(source, "defaultMode", path, problems)
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
    check_mode(item, "mode", path, problems)


def check_field_reference(
    reference: JsonObject, known: tuple[str, ...], path: str, problems: Problems
) -> None:
    text = reference.get("fieldPath") or ""
    if not text:
        problems.required(f"{path}.fieldPath")
        return
    try:
        field, key = pod_field(reference.get("apiVersion") or "", text)
    except FieldPathError as error:
        detail = f"error converting fieldPath: {error}"
        problems.invalid(f"{path}.fieldPath", text, detail)
        return
    if key is not None:
        check_label_key(key.lower() if field == "metadata.annotations" else key, path, problems)
    elif field not in known:
        problems.unsupported_text(f"{path}.fieldPath", field, sorted(known))


def check_resource_reference(
    reference: JsonObject, path: str, problems: Problems, *, volume: bool = False
) -> None:
    resource = reference.get("resource") or ""
    if volume and not reference.get("containerName"):
        problems.required(f"{path}.containerName")
    elif not resource:
        problems.required(f"{path}.resource")
    elif resource not in RESOURCE_FIELDS and not resource.startswith(_HUGE_PAGES):
        problems.unsupported_text(f"{path}.resource", resource, RESOURCE_FIELDS)
    divisor = reference.get("divisor") or "0"
    if number_of(divisor) != 0:
        _check_divisor(resource, canonical_quantity(divisor), f"{path}.divisor", problems)


def _check_divisor(resource: str, divisor: str, path: str, problems: Problems) -> None:
    if resource in ("limits.cpu", "requests.cpu"):
        if divisor not in ("1", "1m"):
            text = "only divisor's values 1m and 1 are supported with the cpu resource"
            problems.invalid(path, resource, text)
        return
    name = "hugepages" if resource.startswith(_HUGE_PAGES) else resource.partition(".")[2]
    known = resource in RESOURCE_FIELDS or name == "hugepages"
    if known and divisor not in _UNITS:
        units = ", ".join(_UNITS)
        text = f"only divisor's values {units} are supported with the {_MEASURES[name]} resource"
        problems.invalid(path, resource, text)


def check_projected(source: JsonObject, path: str, problems: Problems) -> None:
    check_mode(source, "defaultMode", path, problems)
    seen: set[str] = set()
    for index, entry in enumerate(source.get("sources") or ()):
        here = f"{path}.sources[{index}]"
        given = [kind for kind in _PROJECTIONS if entry.get(kind) is not None]
        for kind in given:
            _PROJECTIONS[kind](entry[kind], here, path, problems, seen)
        if len(given) > 1:
            problems.forbidden(here, "may not specify more than 1 volume type per source")


def _add_path(path: str, shown: str, place: str, problems: Problems, seen: set[str]) -> None:
    if path and path in seen:
        problems.invalid(place, shown, _SAME)
    seen.add(path)


def _keys_projection(kind: str) -> Any:
    def check(
        source: JsonObject, path: str, volume: str, problems: Problems, seen: set[str]
    ) -> None:
        if not source.get("name"):
            problems.required(f"{path}.{kind}.name")
        check_items(source, f"{path}.{kind}", problems)
        for item in source.get("items") or ():
            _add_path(item.get("path") or "", source.get("name") or "", volume, problems, seen)

    return check


def _check_downward_projection(
    source: JsonObject, path: str, volume: str, problems: Problems, seen: set[str]
) -> None:
    for item in source.get("items") or ():
        _check_downward_file(item, f"{path}.downwardAPI", problems)
        _add_path(item.get("path") or "", item.get("path") or "", volume, problems, seen)


def _check_token(
    source: JsonObject, path: str, volume: str, problems: Problems, _: set[str]
) -> None:
    seconds, here = source.get("expirationSeconds"), f"{path}.serviceAccountToken.expirationSeconds"
    if seconds is not None and seconds < 600:
        problems.invalid(here, seconds, "may not specify a duration less than 10 minutes")
    if seconds is not None and seconds > 1 << 32:
        problems.invalid(here, seconds, "may not specify a duration larger than 2^32 seconds")
    # Upstream reports the path below the volume.
    if not source.get("path"):
        problems.required(f"{volume}.path")
    else:
        check_file_path(source["path"], f"{volume}.path", problems)


_PROJECTIONS: Final = {
    "secret": _keys_projection("secret"),
    "configMap": _keys_projection("configMap"),
    "downwardAPI": _check_downward_projection,
    "serviceAccountToken": _check_token,
}
