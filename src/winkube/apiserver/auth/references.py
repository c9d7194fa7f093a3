"""What a pod refers to by name, wherever its spec can: what its kubelet may read."""

from collections.abc import Iterator
from typing import Final

from winkube.base.types import JsonObject

SECRET: Final = "secrets"
CONFIG_MAP: Final = "configmaps"
CLAIM: Final = "persistentvolumeclaims"
ACCOUNT: Final = "serviceaccounts"

Reference = tuple[str, str]  # plural, name; always in the pod's own namespace

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
# Volume types that name a secret, and the field that holds its reference.
_SECRET_REFS: Final = {
    "cephfs": "secretRef",
    "flexVolume": "secretRef",
    "iscsi": "secretRef",
    "rbd": "secretRef",
    "scaleIO": "secretRef",
    "storageos": "secretRef",
    "csi": "nodePublishSecretRef",
}


def references_of(pod: JsonObject) -> frozenset[Reference]:
    spec = pod.get("spec") or {}
    found = [*_accounts(spec), *_container_references(spec), *_volume_references(pod, spec)]
    return frozenset((plural, name) for plural, name in found if name)


def _accounts(spec: JsonObject) -> Iterator[Reference]:
    yield ACCOUNT, spec.get("serviceAccountName") or ""
    for entry in spec.get("imagePullSecrets") or ():
        yield SECRET, entry.get("name") or ""


def _container_references(spec: JsonObject) -> Iterator[Reference]:
    for field in _CONTAINERS:
        for container in spec.get(field) or ():
            for source in container.get("envFrom") or ():
                yield SECRET, (source.get("secretRef") or {}).get("name") or ""
                yield CONFIG_MAP, (source.get("configMapRef") or {}).get("name") or ""
            for variable in container.get("env") or ():
                source = variable.get("valueFrom") or {}
                yield SECRET, (source.get("secretKeyRef") or {}).get("name") or ""
                yield CONFIG_MAP, (source.get("configMapKeyRef") or {}).get("name") or ""


def _volume_references(pod: JsonObject, spec: JsonObject) -> Iterator[Reference]:
    for volume in spec.get("volumes") or ():
        yield SECRET, (volume.get("secret") or {}).get("secretName") or ""
        yield SECRET, (volume.get("azureFile") or {}).get("secretName") or ""
        yield CONFIG_MAP, (volume.get("configMap") or {}).get("name") or ""
        yield CLAIM, (volume.get("persistentVolumeClaim") or {}).get("claimName") or ""
        if "ephemeral" in volume:
            yield CLAIM, f"{pod['metadata'].get('name', '')}-{volume.get('name', '')}"
        for kind, field in _SECRET_REFS.items():
            yield SECRET, ((volume.get(kind) or {}).get(field) or {}).get("name") or ""
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield SECRET, (source.get("secret") or {}).get("name") or ""
            yield CONFIG_MAP, (source.get("configMap") or {}).get("name") or ""
