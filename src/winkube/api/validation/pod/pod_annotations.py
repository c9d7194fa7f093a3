"""Annotations that mean something to the API server, most of them older than the fields."""

import re
from typing import Final

import orjson

from winkube.api.validation.common import check_descending
from winkube.api.validation.pod.scheduling import check_tolerations
from winkube.api.validation.pod.security import each_container
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
MIRROR: Final = "kubernetes.io/config.mirror"
SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP: Final = "container.seccomp.security.alpha.kubernetes.io/"
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_LOCAL: Final = "localhost/"


def check_pod_annotations(
    annotations: JsonObject, spec: JsonObject, path: str, problems: Problems
) -> None:
    if MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        problems.invalid(f"{path}[{MIRROR}]", annotations[MIRROR], text)
    if annotations.get(_TOLERATIONS):
        _check_tolerations(annotations[_TOLERATIONS], path, problems)
    cost = annotations.get(_COST)
    if cost is not None and not _is_int32(cost):
        problems.invalid(f"{path}[{_COST}]", cost, "must be a 32bit integer")
    if SECCOMP_POD in annotations:
        _check_seccomp(annotations[SECCOMP_POD], f"{path}.{SECCOMP_POD}", problems)
    for key, value in annotations.items():
        if key.startswith(SECCOMP):
            _check_seccomp(value, f"{path}.{key}", problems)
    for key, value in annotations.items():
        if key.startswith(APP_ARMOR):
            _check_app_armor(key, value, spec, f"{path}[{key}]", problems)


def _is_int32(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and len(text) < 12 and -(2**31) <= int(text) < 2**31


def _check_tolerations(text: str, path: str, problems: Problems) -> None:
    try:
        tolerations = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        problems.invalid(path, _TOLERATIONS, str(error))
        return
    if isinstance(tolerations, list):
        check_tolerations(tolerations, f"{path}.{_TOLERATIONS}", problems)


def _check_seccomp(value: str, path: str, problems: Problems) -> None:
    if value in ("runtime/default", "docker/default", "unconfined"):
        return
    if value.startswith(_LOCAL):
        check_descending(value.removeprefix(_LOCAL), path, problems)
    else:
        problems.invalid(path, value, "must be a valid seccomp profile")


def _check_app_armor(key: str, value: str, spec: JsonObject, path: str, problems: Problems) -> None:
    name = key.removeprefix(APP_ARMOR)
    if not any(container.get("name") == name for container, _ in each_container(spec, "")):
        problems.invalid(path, name, "container not found")
    known = value in ("", "runtime/default", "unconfined") or value.startswith(_LOCAL)
    if not known:
        problems.invalid(path, value, f'invalid AppArmor profile name: "{value}"')


def check_profile_annotations(
    annotations: JsonObject,
    spec: JsonObject,
    path: str,
    problems: Problems,
    *,
    app_armor: bool = True,
) -> None:
    """Where both the annotation and the field are given they agree."""
    context = spec.get("securityContext") or {}
    pod_profile = context.get("seccompProfile")
    if pod_profile is not None and SECCOMP_POD in annotations:
        here = f"{path}.securityContext.seccompProfile"
        _check_match(annotations[SECCOMP_POD], pod_profile, "seccomp", here, problems)
    for container, place in each_container(spec, path):
        own = (container.get("securityContext") or {}).get("seccompProfile")
        key = SECCOMP + (container.get("name") or "")
        if own is not None and key in annotations:
            here = f"{place}.securityContext.seccompProfile"
            _check_match(annotations[key], own, "seccomp", here, problems)
    if not app_armor or (spec.get("os") or {}).get("name") == "windows":
        return
    for container, place in each_container(spec, path):
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        profile = own if own is not None else context.get("appArmorProfile")
        key = APP_ARMOR + (container.get("name") or "")
        if profile is not None and key in annotations:
            here = f"{place}.securityContext.appArmorProfile"
            _check_match(annotations[key], profile, "apparmor", here, problems)


_DEFAULTS: Final = {
    "seccomp": ("runtime/default", "docker/default"),
    "apparmor": ("runtime/default",),
}


def _check_match(
    annotation: str, profile: JsonObject, word: str, path: str, problems: Problems
) -> None:
    kind = profile.get("type")
    if kind == "Localhost" and annotation.startswith(_LOCAL):
        if annotation.removeprefix(_LOCAL) != profile.get("localhostProfile"):
            text = f"{word} profile in annotation and field must match"
            problems.forbidden(f"{path}.localhostProfile", text)
        return
    right: tuple[str, ...] = _DEFAULTS[word] if kind == "RuntimeDefault" else ()
    if kind == "Unconfined":
        right = ("unconfined",)
    if kind in ("Unconfined", "RuntimeDefault", "Localhost") and annotation not in right:
        problems.forbidden(f"{path}.type", f"{word} type in annotation and field must match")
