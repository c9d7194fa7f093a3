"""Persistent volumes."""

from collections.abc import Iterator
from typing import Final

from winkube.api.meta import annotations_of
from winkube.api.volumes import CLASS_BETA
from winkube.api.warnings.labels import term_warnings
from winkube.base.types import JsonObject

_OLD_ANNOTATIONS: Final = {
    CLASS_BETA: ('deprecated since v1.8; use "storageClassName" attribute instead'),
    "volume.beta.kubernetes.io/mount-options": (
        'deprecated since v1.31; use "mountOptions" attribute instead'
    ),
}
_OLD_SOURCES: Final = {
    "cephfs": "cephfs: deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "storageos": "storageOS: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "rbd": "rbd: deprecated in v1.28, non-functional in v1.31+",
}


def volume_warnings(obj: JsonObject) -> Iterator[str]:
    spec, notes = obj.get("spec") or {}, annotations_of(obj)
    for key, text in _OLD_ANNOTATIONS.items():
        if key in notes:
            yield f"metadata.annotations[{key}]: {text}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
        here = f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]"
        yield from term_warnings(term, here, check_values=False)
    for kind, text in _OLD_SOURCES.items():
        if spec.get(kind) is not None:
            yield f"spec.{text}"
