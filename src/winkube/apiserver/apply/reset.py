"""Fields that writing an object, or a part of it, leaves as they are: who sends them owns none.

Upstream's strategies say it kind by kind (k8s.io/kubernetes: pkg/registry, GetResetFields).
"""

from typing import Final

from winkube.api.kinds import Kind
from winkube.apiserver.apply.tree import Path, Tree, without

Reset = tuple[Path, ...]

STATUS_RESET: Final[Reset] = (("f:status",),)
_SPEC: Final = ("f:spec",)
_STATUS: Final = ("f:status",)
_METADATA: Final = ("f:metadata",)
_POLICIES: Final = "admissionregistration.k8s.io"
_SIGNING: Final = ("certificates.k8s.io", "certificatesigningrequests")
_FLOWS: Final = "flowcontrol.apiserver.k8s.io"

# Of most kinds the object resets its status and the status everything but itself and metadata.
_USUAL: Final[dict[str, Reset]] = {
    "": STATUS_RESET,
    "status": (_SPEC,),
    "finalize": STATUS_RESET,
}
_UNUSUAL: Final[dict[tuple[str, str], dict[str, Reset]]] = {
    _SIGNING: {
        "": (_SPEC, _STATUS),
        "status": (_SPEC, ("f:status", "f:conditions")),
        "approval": (_SPEC, ("f:status", "f:certificate")),
    },
    # What it says is about another group than its own.
    ("networking.k8s.io", "servicecidrs"): {"": (), "status": ()},
    ("", "pods"): {
        "status": (
            _SPEC,
            ("f:metadata", "f:deletionTimestamp"),
            ("f:metadata", "f:ownerReferences"),
        )
    },
    ("apps", "deployments"): {"status": (_SPEC, ("f:metadata", "f:labels"))},
    **{
        place: {"status": (_SPEC, _METADATA)}
        for place in (
            (_POLICIES, "validatingadmissionpolicies"),
            ("apiextensions.k8s.io", "customresourcedefinitions"),
            ("apiregistration.k8s.io", "apiservices"),
            (_FLOWS, "flowschemas"),
            (_FLOWS, "prioritylevelconfigurations"),
            ("storage.k8s.io", "volumeattachments"),
        )
    },
}


def reset_fields(kind: Kind, part: str) -> Reset:
    if "status" not in kind.subresources:
        return STATUS_RESET  # there is none
    own = _UNUSUAL.get((kind.group, kind.plural))
    if own is not None and part in own:
        return own[part]
    return _USUAL.get(part, ())


def beside(tree: Tree | None, reset: Reset) -> Tree | None:
    """What of these fields a write can change."""
    for path in reset:
        tree = without(tree, path)
    return tree
