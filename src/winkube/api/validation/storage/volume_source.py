"""Where a volume's content comes from: sources that pods and persistent volumes share.

A source is checked for the fields it needs, then by a function of its own where it has more rules.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from winkube.api import names
from winkube.api.validation.common import (
    check_choice,
    check_descending,
    check_no_backsteps,
    in_range,
)
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

Check = Callable[[JsonObject, str, Problems], None]

_HOST_PATHS: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate",
    "Socket",
)  # fmt: skip
_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "gitRepo": ("repository",),
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "nfs": ("server", "path"),
    "iscsi": ("targetPortal",),
    "glusterfs": ("endpoints", "path"),
    "persistentVolumeClaim": ("claimName",),
    "rbd": ("monitors", "image"),
    "cinder": ("volumeID",),
    "cephfs": ("monitors",),
    "flexVolume": ("driver",),
    "azureFile": ("secretName", "shareName"),
    "azureDisk": ("diskName", "diskURI"),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "scaleIO": ("gateway", "system", "volumeName"),
    "ephemeral": ("volumeClaimTemplate",),
}
# Where upstream's field path is not the field's name.
_SPELT: Final = {"gcePersistentDisk": "persistentDisk"}
_PARTITION: Final = in_range(1, 255)
_LUN: Final = in_range(0, 255)
_QUALIFIED: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$"),
    "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$"),
}
_FORMAT: Final = "must be valid format"
_PAIRS: Final = "must be a host:port pair or multiple pairs separated by commas"
_TENANT: Final = "must be a UUID and may not exceed a length of 64 characters"
_CACHING: Final = ("None", "ReadOnly", "ReadWrite")
_DISKS: Final = ("Dedicated", "Managed", "Shared")
_BLOB: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_MANAGED: Final = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
    "{disk-id}"
)
_DRIVER_LENGTH: Final = 63
INITIATOR_LENGTH: Final = 64
INITIATOR_TEXT: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
    "iscsi.initiatorName is specified."
)


def check_source(
    kind: str, source: JsonObject, path: str, problems: Problems, checks: Mapping[str, Check]
) -> None:
    """``path`` is the volume's; ``checks`` are those of pods or of persistent volumes."""
    here = f"{path}.{_SPELT.get(kind, kind)}"
    for field in _NEEDS.get(kind, ()):
        if not source.get(field):
            problems.required(f"{here}.{field}")
    check = checks.get(kind)
    if check is not None:
        check(source, here, problems)


def check_host_path(source: JsonObject, path: str, problems: Problems) -> None:
    if not source.get("path"):
        problems.required(f"{path}.path")
        return
    check_no_backsteps(source["path"], f"{path}.path", problems)
    if source.get("type") not in (None, *_HOST_PATHS):
        problems.unsupported(f"{path}.type", source["type"], _HOST_PATHS)


def check_git(source: JsonObject, path: str, problems: Problems) -> None:
    check_descending(source.get("directory") or "", f"{path}.directory", problems)


def check_partition(source: JsonObject, path: str, problems: Problems) -> None:
    partition = source.get("partition") or 0
    if not 0 <= partition <= 255:
        problems.invalid(f"{path}.partition", partition, _PARTITION)


def check_nfs(source: JsonObject, path: str, problems: Problems) -> None:
    folder = source.get("path") or ""
    if not folder.startswith("/"):
        problems.invalid(f"{path}.path", folder, "must be an absolute path")


def check_iscsi(source: JsonObject, path: str, problems: Problems) -> None:
    check_iscsi_names(source, path, problems, unknown=f"{_FORMAT} starting with iqn, eui, or naa")


def check_iscsi_names(source: JsonObject, path: str, problems: Problems, *, unknown: str) -> None:
    name, lun = source.get("iqn") or "", source.get("lun") or 0
    if not name:
        problems.required(f"{path}.iqn")
    else:
        _check_qualified(name, f"{path}.iqn", problems, unknown)
    if not 0 <= lun <= 255:
        problems.invalid(f"{path}.lun", lun, _LUN)
    chap = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if chap and source.get("secretRef") is None:
        problems.required(f"{path}.secretRef")
    initiator = source.get("initiatorName")
    if initiator is not None:
        _check_qualified(initiator, f"{path}.initiatorname", problems, unknown)


def _check_qualified(name: str, path: str, problems: Problems, unknown: str) -> None:
    pattern = _QUALIFIED.get(name[:3])
    if pattern is None:
        problems.invalid(path, name, unknown)
    elif not pattern.search(name):
        problems.invalid(path, name, _FORMAT)


def check_flocker(source: JsonObject, path: str, problems: Problems) -> None:
    name, uid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uid:
        problems.required(path, "one of datasetName and datasetUUID is required")
    if name and uid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        problems.invalid(path, "resource", text)
    if "/" in name:
        problems.invalid(f"{path}.datasetName", name, "must not contain '/'")


def check_secret_name(source: JsonObject, path: str, problems: Problems) -> None:
    secret = source.get("secretRef")
    if secret is not None and not secret.get("name"):
        problems.required(f"{path}.secretRef.name")


def check_quobyte(source: JsonObject, path: str, problems: Problems) -> None:
    registry = source.get("registry") or ""
    if not registry:
        problems.required(f"{path}.registry", _PAIRS)
    elif len(source.get("tenant") or "") > 64:
        problems.required(f"{path}.tenant", _TENANT)
    else:
        for pair in registry.split(","):
            if pair.count(":") != 1:
                problems.invalid(f"{path}.registry", registry, _PAIRS)
    if not source.get("volume"):
        problems.required(f"{path}.volume")


def check_fibre_channel(source: JsonObject, path: str, problems: Problems) -> None:
    targets, lun = source.get("targetWWNs") or [], source.get("lun")
    here = f"{path}.targetWWNs"
    if not targets and not source.get("wwids"):
        problems.required(here, "must specify either targetWWNs or wwids, but not both")
    if targets and source.get("wwids"):
        text = "targetWWNs and wwids can not be specified simultaneously"
        problems.invalid(here, targets, text)
    if targets and lun is None:
        problems.required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif targets and not 0 <= lun <= 255:  # type: ignore[operator]
        problems.invalid(f"{path}.lun", lun, _LUN)


def check_flex(source: JsonObject, path: str, problems: Problems) -> None:
    for key in source.get("options") or ():
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            problems.invalid(f"{path}.options[{key}]", key, text)


def check_azure_disk(source: JsonObject, path: str, problems: Problems) -> None:
    uri, kind = source.get("diskURI") or "", source.get("kind")
    for field, choices in (("cachingMode", _CACHING), ("kind", _DISKS)):
        check_choice(source, field, choices, path, problems)
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        problems.unsupported_text(f"{path}.diskURI", uri, (_MANAGED,))
    elif kind is not None and kind != "Managed" and not uri.startswith("https://"):
        problems.unsupported_text(f"{path}.diskURI", uri, (_BLOB,))


def check_storage_os(source: JsonObject, path: str, problems: Problems) -> None:
    name, namespace = source.get("volumeName") or "", source.get("volumeNamespace") or ""
    if not name:
        problems.required(f"{path}.volumeName")
    else:
        problems.all_invalid(f"{path}.volumeName", name, names.dns_label_problems(name))
    if namespace:
        details = names.dns_label_problems(namespace)
        problems.all_invalid(f"{path}.volumeNamespace", namespace, details)
    check_secret_name(source, path, problems)


def check_csi(source: JsonObject, path: str, problems: Problems) -> None:
    check_driver_name(source.get("driver") or "", f"{path}.driver", problems)
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return
    name = secret.get("name") or ""
    if not name:
        problems.required(f"{path}.nodePublishSecretRef.name")
    else:
        problems.all_invalid(f"{path}.name", name, names.dns_subdomain_problems(name))


def check_driver_name(name: str, path: str, problems: Problems) -> None:
    """Of a CSI driver."""
    if not name:
        problems.required(path)
    if len(name) > _DRIVER_LENGTH:
        problems.too_long(path, _DRIVER_LENGTH)
    problems.all_invalid(path, name, names.dns_subdomain_problems(name.lower()))


# Of pods and persistent volumes alike.
SHARED: Final[Mapping[str, Check]] = {
    "hostPath": check_host_path,
    "gcePersistentDisk": check_partition,
    "awsElasticBlockStore": check_partition,
    "nfs": check_nfs,
    "flocker": check_flocker,
    "quobyte": check_quobyte,
    "fc": check_fibre_channel,
    "flexVolume": check_flex,
    "azureDisk": check_azure_disk,
}
