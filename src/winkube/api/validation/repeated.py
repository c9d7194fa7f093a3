"""How often upstream looks at an object's metadata when it is updated.

What is true for all objects is checked for all, and then by each kind's own rules once more, or
twice: every look has its causes in the answer.
"""

from typing import Final

from winkube.api.kinds import Kind
from winkube.api.meta import metadata
from winkube.api.validation.metadata import (
    check_standard_finalizers,
    validate_metadata,
    validate_metadata_update,
)
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

# "u" looks at the change, "m" at the new metadata as a creation does.
_USUAL: Final = "u"
_LOOKS: Final = {
    "": (
        "policy/PodDisruptionBudget",
        "policy/PodDisruptionBudget/status",
        "batch/CronJob/status",
        "/Event",
    ),
    "m": (
        "discovery.k8s.io/EndpointSlice",
        "admissionregistration.k8s.io/MutatingWebhookConfiguration",
        "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
        "flowcontrol.apiserver.k8s.io/FlowSchema",
        "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
        "/LimitRange",
    ),
    "um": (
        "apps/ControllerRevision",
        "networking.k8s.io/Ingress",
        "networking.k8s.io/IngressClass",
        "certificates.k8s.io/CertificateSigningRequest",
        "certificates.k8s.io/CertificateSigningRequest/status",
        "certificates.k8s.io/CertificateSigningRequest/approval",
        "apiregistration.k8s.io/APIService",
        "/ConfigMap",
        "/Secret",
        "/Endpoints",
        "/ServiceAccount",
        "/Pod",
        "/Pod/ephemeralcontainers",
        "/Pod/resize",
    ),
    "mu": (
        "batch/Job",
        "networking.k8s.io/NetworkPolicy",
        "networking.k8s.io/IPAddress",
        "storage.k8s.io/StorageClass",
        "storage.k8s.io/CSIStorageCapacity",
        "node.k8s.io/RuntimeClass",
        "resource.k8s.io/DeviceClass",
        "resource.k8s.io/ResourceClaim",
        "resource.k8s.io/ResourceClaimTemplate",
        "/ReplicationController",
        "/Node",
        "/Namespace",
    ),
    "mm": (
        "storage.k8s.io/CSINode",
        "storage.k8s.io/VolumeAttachment",
        "/PersistentVolume",
    ),
    "mum": (
        "storage.k8s.io/VolumeAttributesClass",
        "/PersistentVolumeClaim",
    ),
    "mmu": (
        "rbac.authorization.k8s.io/Role",
        "rbac.authorization.k8s.io/ClusterRole",
        "rbac.authorization.k8s.io/RoleBinding",
        "rbac.authorization.k8s.io/ClusterRoleBinding",
    ),
}
_BY_KIND: Final = {name: looks for looks, names in _LOOKS.items() for name in names}


def looks(kind: Kind, part: str) -> tuple[str, str]:
    """How the metadata is looked at before the object itself is, and after that."""
    name = f"{kind.group}/{kind.kind}"
    found = _BY_KIND.get(f"{name}/{part}" if part else name, _USUAL)
    return (found[:-1], "u") if found in ("mu", "mmu") else (found, "")


def repeat_metadata(
    kind: Kind, new: JsonObject, old: JsonObject, wanted: str, problems: Problems
) -> None:
    for look in wanted:
        if look == "u":
            validate_metadata_update(metadata(new), metadata(old), problems)
            check_standard_finalizers(kind, metadata(new), problems)
        else:
            validate_metadata(kind, new.get("metadata"), problems)
