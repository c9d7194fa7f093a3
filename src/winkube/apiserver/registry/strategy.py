"""What the verbs mean for a kind where it is not what they mean for most.

Upstream's strategies (k8s.io/kubernetes: pkg/registry/*/*/strategy.go), as sets of resources.
"""

from typing import Final

from winkube.api.kinds import Kind

_RBAC: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "storage.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
_DEVICES: Final = "resource.k8s.io"

# A PUT of an object that is not there creates it.
_CREATED_BY_PUT: Final = frozenset(
    {
        ("", "services"),
        ("", "endpoints"),
        ("", "events"),
        ("events.k8s.io", "events"),
        ("", "limitranges"),
        (_RBAC, "roles"),
        (_RBAC, "clusterroles"),
        (_RBAC, "rolebindings"),
        (_RBAC, "clusterrolebindings"),
        ("node.k8s.io", "runtimeclasses"),
        ("coordination.k8s.io", "leases"),
    }
)
# A PUT has to say which version it replaces.
_VERSIONED: Final = frozenset(
    {
        ("policy", "poddisruptionbudgets"),
        (_STORAGE, "csidrivers"),
        (_STORAGE, "csinodes"),
        (_STORAGE, "csistoragecapacities"),
        (_STORAGE, "volumeattachments"),
        ("node.k8s.io", "runtimeclasses"),
        ("coordination.k8s.io", "leases"),
        (_ADMISSION, "mutatingwebhookconfigurations"),
        (_ADMISSION, "validatingwebhookconfigurations"),
        (_ADMISSION, "validatingadmissionpolicies"),
        (_ADMISSION, "validatingadmissionpolicybindings"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("apiregistration.k8s.io", "apiservices"),
    }
)
# Deletion answers with the object instead of a Status.
_RETURNED: Final = frozenset(
    {
        ("", "pods"),
        ("", "podtemplates"),
        ("", "persistentvolumeclaims"),
        ("", "persistentvolumes"),
        ("", "resourcequotas"),
        ("", "serviceaccounts"),
        ("", "services"),
        (_STORAGE, "storageclasses"),
        (_STORAGE, "csidrivers"),
        (_STORAGE, "csinodes"),
        (_STORAGE, "volumeattachments"),
        (_STORAGE, "volumeattributesclasses"),
        (_DEVICES, "deviceclasses"),
        (_DEVICES, "resourceclaims"),
        (_DEVICES, "resourceclaimtemplates"),
        (_DEVICES, "resourceslices"),
    }
)


def put_creates(kind: Kind) -> bool:
    return (kind.group, kind.plural) in _CREATED_BY_PUT


def needs_version(kind: Kind) -> bool:
    return (kind.group, kind.plural) in _VERSIONED


def returns_deleted(kind: Kind) -> bool:
    return (kind.group, kind.plural) in _RETURNED
