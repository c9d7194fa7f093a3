"""Volumes of a pod."""

from collections.abc import Mapping
from typing import Any, Final

from winkube.api import names
from winkube.api.validation.pod.projection import (
    check_config_map,
    check_downward,
    check_projected,
    check_secret,
)
from winkube.api.validation.pod.resources import number_of
from winkube.api.validation.problems import Problems
from winkube.api.validation.storage.claim import check_claim_template
from winkube.api.validation.storage.volume_source import (
    INITIATOR_LENGTH,
    INITIATOR_TEXT,
    SHARED,
    Check,
    check_csi,
    check_git,
    check_iscsi,
    check_secret_name,
    check_source,
    check_storage_os,
)
from winkube.base.types import JsonObject

Volumes = dict[str, JsonObject]

# In the order upstream looks; with two, the first is checked and the others are refused.
_ORDER: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret",
    "nfs", "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs",
    "quobyte", "downwardAPI", "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO",
    "csi", "ephemeral", "image",
)  # fmt: skip
# Misspelt upstream in this one message.
_SPELT: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def check_volumes(volumes: Any, path: str, problems: Problems, pod_name: str = "") -> Volumes:
    """By name, those that mounts may refer to: the ones without problems."""
    known: Volumes = {}
    created = {
        f"{pod_name}-{volume.get('name') or ''}"
        for volume in volumes or ()
        if pod_name and volume.get("ephemeral") is not None
    }
    for index, volume in enumerate(volumes or ()):
        here, name, before = f"{path}[{index}]", volume.get("name") or "", len(problems.causes)
        _check_sources(volume, here, problems)
        if not name:
            problems.required(f"{here}.name")
        else:
            problems.all_invalid(f"{here}.name", name, names.dns_label_problems(name))
        if name in known:
            problems.duplicate(f"{here}.name", name)
        if len(problems.causes) == before:
            known[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim and claim in created:
            problems.invalid(
                f"{here}.persistentVolumeClaim.claimName",
                claim,
                "must not reference a PVC that gets created for an ephemeral volume",
            )
    return known


def _check_sources(volume: JsonObject, path: str, problems: Problems) -> None:
    sources = [kind for kind in _ORDER if volume.get(kind) is not None]
    if not sources:
        problems.required(path, "must specify a volume type")
        return
    check_source(sources[0], volume[sources[0]], path, problems, _CHECKS)
    for kind in sources[1:]:
        here = f"{path}.{_SPELT.get(kind, kind)}"
        problems.forbidden(here, "may not specify more than 1 volume type")
    initiator = volume.get("iscsi") or {}
    portal = f"{volume.get('name') or ''}:{initiator.get('targetPortal') or ''}"
    if initiator.get("initiatorName") is not None and len(portal) > INITIATOR_LENGTH:
        problems.invalid(f"{path}.name", volume.get("name") or "", INITIATOR_TEXT)


def _check_empty_dir(source: JsonObject, path: str, problems: Problems) -> None:
    if source.get("sizeLimit") is not None and number_of(source["sizeLimit"]) < 0:
        problems.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _check_ephemeral(source: JsonObject, path: str, problems: Problems) -> None:
    template = source.get("volumeClaimTemplate")
    if template:
        check_claim_template(template, f"{path}.volumeClaimTemplate", problems)


_CHECKS: Final[Mapping[str, Check]] = {
    **SHARED,
    "emptyDir": _check_empty_dir,
    "gitRepo": check_git,
    "secret": check_secret,
    "configMap": check_config_map,
    "downwardAPI": check_downward,
    "projected": check_projected,
    "iscsi": check_iscsi,
    "cinder": check_secret_name,
    "storageos": check_storage_os,
    "csi": check_csi,
    "ephemeral": _check_ephemeral,
}
