"""Persistent volumes."""

import itertools
import posixpath
from collections.abc import Mapping
from typing import Final

from winkube.api import names
from winkube.api.decode import clone
from winkube.api.difference import difference
from winkube.api.internal import internal
from winkube.api.validation.common import check_immutable, check_no_backsteps
from winkube.api.validation.pod.resources import check_basic_quantity, number_of
from winkube.api.validation.pod.scheduling import check_node_selector
from winkube.api.validation.problems import Problems
from winkube.api.validation.storage.claim import check_access_modes, check_volume_mode
from winkube.api.validation.storage.volume_source import (
    INITIATOR_LENGTH,
    INITIATOR_TEXT,
    SHARED,
    Check,
    check_driver_name,
    check_iscsi_names,
    check_source,
    check_storage_os,
)
from winkube.base.types import JsonObject

_NOT_A_SOURCE: Final = frozenset(
    ("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "volumeMode",
     "persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName")
)  # fmt: skip
_ORDER: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd",
    "quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_SPELT: Final = {"cephfs": "cephFS"}
_RECLAIMS: Final = ("Delete", "Recycle", "Retain")
_CSI_SECRETS: Final = (
    "controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef",
    "nodeExpandSecretRef",
)  # fmt: skip


def check_inline_volume(spec: JsonObject, path: str, problems: Problems) -> None:
    """One that is part of another object, and nobody's to claim."""
    text = "may not be specified in the context of inline volumes"
    for field in ("claimRef", "capacity"):
        if spec.get(field):
            problems.forbidden(f"{path}.{field}", text)
    if spec.get("csi") is None:
        problems.required(f"{path}.csi", "has to be specified in the context of inline volumes")
    if not spec.get("accessModes"):
        problems.required(f"{path}.accessModes")
    check_access_modes(spec.get("accessModes"), f"{path}.accessModes", problems)
    policy, mode = spec.get("persistentVolumeReclaimPolicy"), spec.get("volumeMode")
    if policy and policy != "Retain":
        only = "may only be Retain in the context of inline volumes"
        problems.forbidden(f"{path}.persistentVolumeReclaimPolicy", only)
    if spec.get("nodeAffinity") is not None:
        problems.forbidden(f"{path}.nodeAffinity", text)
    _check_sources({}, {**spec, "nodeAffinity": None}, path, problems)
    _check_recycled(spec, path, problems)
    if spec.get("storageClassName"):
        problems.forbidden(f"{path}.storageClassName", text)
    if mode is not None and mode != "Filesystem":
        other = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        problems.forbidden(f"{path}.volumeMode", other)


def _check_recycled(spec: JsonObject, path: str, problems: Problems) -> None:
    host = (spec.get("hostPath") or {}).get("path") or ""
    recycled = spec.get("persistentVolumeReclaimPolicy") == "Recycle"
    if recycled and host and posixpath.normpath(host).strip("/") == "" and host.startswith("/"):
        text = "may not be 'recycle' for a hostPath mount of '/'"
        problems.forbidden(f"{path}.persistentVolumeReclaimPolicy", text)


def validate_volume(obj: JsonObject, problems: Problems) -> None:
    spec, path = obj.get("spec") or {}, "spec"
    if not spec.get("accessModes"):
        problems.required(f"{path}.accessModes")
    check_access_modes(spec.get("accessModes"), f"{path}.accessModes", problems)
    _check_capacity(spec.get("capacity"), f"{path}.capacity", problems)
    policy = spec.get("persistentVolumeReclaimPolicy")
    here = f"{path}.persistentVolumeReclaimPolicy"
    if policy and policy not in _RECLAIMS:
        problems.unsupported(here, policy, _RECLAIMS)
    _check_affinity(spec.get("nodeAffinity"), f"{path}.nodeAffinity", problems)
    _check_sources(obj, spec, path, problems)
    _check_recycled(spec, path, problems)
    _check_class(spec.get("storageClassName"), f"{path}.storageClassName", problems)
    check_volume_mode(spec, path, problems)
    _check_attributes(spec, path, problems)


def _check_capacity(given: JsonObject | None, path: str, problems: Problems) -> None:
    capacity = given or {}
    if not capacity:
        problems.required(path)
    if "storage" not in capacity or len(capacity) > 1:
        problems.unsupported(path, given and dict(sorted(given.items())), ("storage",))
    for name, quantity in capacity.items():
        check_basic_quantity(quantity, f"{path}[{name}]", problems)
        if number_of(quantity) <= 0:
            problems.invalid(f"{path}[{name}]", quantity, "must be greater than zero")


def _check_affinity(affinity: JsonObject | None, path: str, problems: Problems) -> None:
    if affinity is None:
        return
    required = affinity.get("required")
    if required is not None:
        check_node_selector(required, f"{path}.required", problems)
    else:
        problems.required(f"{path}.required", "must specify required node constraints")


def _check_sources(obj: JsonObject, spec: JsonObject, path: str, problems: Problems) -> None:
    first = ""
    for kind in _ORDER:
        source = spec.get(kind)
        if source is None:
            continue
        if first and kind != "flexVolume":
            here = f"{path}.{_SPELT.get(kind, kind)}"
            problems.forbidden(here, "may not specify more than 1 volume type")
            continue
        first = first or kind
        check_source(kind, source, path, problems, _CHECKS)
        if kind == "iscsi":
            _check_portal(obj, source, f"{path}.iscsi", problems)
        if kind == "local" and not _has_node(spec):
            text = "Local volume requires node affinity"
            problems.required(f"{path}.nodeAffinity", text)
    if not first:
        problems.required(path, "must specify a volume type")


def _has_node(spec: JsonObject) -> bool:
    return (spec.get("nodeAffinity") or {}).get("required") is not None


def _check_portal(obj: JsonObject, source: JsonObject, path: str, problems: Problems) -> None:
    portal, name = source.get("targetPortal") or "", (obj.get("metadata") or {}).get("name") or ""
    if source.get("initiatorName") is not None and len(f"{name}:{portal}") > INITIATOR_LENGTH:
        problems.invalid(f"{path}.targetportal", portal, INITIATOR_TEXT)


def _check_class(name: str | None, path: str, problems: Problems) -> None:
    if name:
        problems.all_invalid(path, name, names.dns_subdomain_problems(name))


def _check_attributes(spec: JsonObject, path: str, problems: Problems) -> None:
    name, here = spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName"
    if name is None:
        return
    if not name:
        problems.required(here, "an empty string is disallowed")
    _check_class(name, here, problems)
    if spec.get("csi") is None:
        text = "has to be specified when using volumeAttributesClassName"
        problems.required(f"{path}.csi", text)


def _check_iscsi(source: JsonObject, path: str, problems: Problems) -> None:
    check_iscsi_names(source, path, problems, unknown="must be valid format")
    secret = source.get("secretRef")
    if secret is not None and not secret.get("name"):
        problems.required(f"{path}.secretRef.name")


def _check_glusterfs(source: JsonObject, path: str, problems: Problems) -> None:
    namespace, here = source.get("endpointsNamespace"), f"{path}.endpointsNamespace"
    if namespace == "":
        text = "if the endpointnamespace is set, it must be a valid namespace name"
        problems.invalid(here, namespace, text)
    elif namespace is not None:
        problems.all_invalid(here, namespace, names.dns_label_problems(namespace))


def _check_secret(source: JsonObject, path: str, problems: Problems) -> None:
    secret = source.get("secretRef")
    if secret is None:
        return
    for field in ("name", "namespace"):
        if not secret.get(field):
            problems.required(f"{path}.secretRef.{field}")


def _check_storage_os(source: JsonObject, path: str, problems: Problems) -> None:
    check_storage_os(source, path, problems)
    secret = source.get("secretRef")
    if secret is not None and not secret.get("namespace"):
        problems.required(f"{path}.secretRef.namespace")


def _check_azure_file(source: JsonObject, path: str, problems: Problems) -> None:
    if source.get("secretNamespace") == "":
        problems.required(f"{path}.secretNamespace")


def _check_local(source: JsonObject, path: str, problems: Problems) -> None:
    if not source.get("path"):
        problems.required(f"{path}.path")
    else:
        check_no_backsteps(source["path"], f"{path}.path", problems)


def _check_csi(source: JsonObject, path: str, problems: Problems) -> None:
    check_driver_name(source.get("driver") or "", f"{path}.driver", problems)
    if not source.get("volumeHandle"):
        problems.required(f"{path}.volumeHandle")
    for field in _CSI_SECRETS:
        if source.get(field) is not None:
            _check_reference(source[field], f"{path}.{field}", problems)


def _check_reference(secret: JsonObject, path: str, problems: Problems) -> None:
    for field, check in (
        ("name", names.dns_subdomain_problems),
        ("namespace", names.dns_label_problems),
    ):
        value = secret.get(field) or ""
        if not value:
            problems.required(f"{path}.{field}")
        else:
            problems.all_invalid(f"{path}.{field}", value, check(value))


_CHECKS: Final[Mapping[str, Check]] = {
    **SHARED,
    "glusterfs": _check_glusterfs,
    "iscsi": _check_iscsi,
    "cinder": _check_secret,
    "azureFile": _check_azure_file,
    "storageos": _check_storage_os,
    "local": _check_local,
    "csi": _check_csi,
}


def validate_volume_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = _source(new), _source(old)
    fresh, kept = after.get("csi") or {}, before.get("csi") or {}
    if before.get("csi") is not None and kept.get("controllerExpandSecretRef") is None:
        fresh.pop("controllerExpandSecretRef", None)
    if after != before:
        shown = difference("PersistentVolumeSource", before, after)
        text = f"spec.persistentvolumesource is immutable after creation\n{shown}"
        problems.forbidden("spec.persistentvolumesource", text)
    now, was = new.get("spec") or {}, old.get("spec") or {}
    check_immutable(now.get("volumeMode"), was.get("volumeMode"), "volumeMode", problems)
    kept, fresh_affinity = was.get("nodeAffinity"), now.get("nodeAffinity")
    if kept is not None and not _same_nodes(fresh_affinity, kept):
        text = "field is immutable, except for updating from beta label to GA"
        given = fresh_affinity is not None
        fresh_shown = internal("VolumeNodeAffinity", fresh_affinity or {}) if given else None
        problems.invalid("nodeAffinity", fresh_shown, text)
    cls = "volumeAttributesClassName"
    if was.get(cls) is not None and now.get(cls) is None:
        problems.forbidden(f"spec.{cls}", "update from non-nil value to nil is forbidden")


_RENAMED: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def _same_nodes(new: JsonObject | None, old: JsonObject) -> bool:
    """But for labels that got new names; one without may lose its name too."""
    if new is None:
        return False
    before = clone(old)
    terms = zip(_terms(new), _terms(before), strict=False)
    pairs = (zip(_expressions(now), _expressions(was), strict=False) for now, was in terms)
    for expression, kept in itertools.chain.from_iterable(pairs):
        if _RENAMED.get(kept.get("key") or "", "") == (expression.get("key") or ""):
            kept["key"] = expression.get("key")
    return bool(new == before)


def _terms(affinity: JsonObject) -> list[JsonObject]:
    return (affinity.get("required") or {}).get("nodeSelectorTerms") or []


def _expressions(term: JsonObject) -> list[JsonObject]:
    return [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]


def _source(obj: JsonObject) -> JsonObject:
    spec = obj.get("spec") or {}
    return {key: clone(value) for key, value in spec.items() if key not in _NOT_A_SOURCE}
