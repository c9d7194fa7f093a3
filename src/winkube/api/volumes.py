"""Which persistent volume fits which claim: read alike by the binder and the scheduler.

The annotations are the words in which the two of them and provisioners speak to each other
(k8s.io/component-helpers: storage/volume).
"""

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from typing import Final

from winkube.api.meta import (
    annotations_of,
    is_deleting,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from winkube.api.quantity import parse_quantity
from winkube.api.selector.labels import from_label_selector
from winkube.api.selector.nodes import matches_expression, matches_term
from winkube.base.types import JsonObject

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
PROVISIONER_BETA: Final = "volume.beta.kubernetes.io/storage-provisioner"
CLASS_BETA: Final = "volume.beta.kubernetes.io/storage-class"
# On a storage class that claims without one get.
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_DEFAULT_CLASS_BETA: Final = "storageclass.beta.kubernetes.io/is-default-class"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
# Of whoever has to remove the storage behind a volume before the volume may go.
EXTERNAL_FINALIZER: Final = "external-provisioner.volume.kubernetes.io/finalizer"

# Volumes made as folders of a node, and the label by which that node finds them.
LOCAL_PATH: Final = "winkube.io/local-path"
LOCAL_PATH_NODE: Final = "winkube.io/local-path-node"


def ephemeral_claim_key(pod: JsonObject, volume: JsonObject) -> str:
    """The claim that is made for a pod's ephemeral volume."""
    return f"{key_of(pod)}-{volume['name']}"


def say_foreign(claim_key: str, pod_key: str) -> str:
    """A claim of the name that a pod's ephemeral volume needs belongs to somebody else."""
    return f"PVC {claim_key} was not created for pod {pod_key} (pod is not owner)"


def class_of(obj: JsonObject) -> str:
    """The storage class of a claim or a volume; the old annotation counts first."""
    noted = annotations_of(obj).get(CLASS_BETA)
    return (
        noted if noted is not None else str((obj.get("spec") or {}).get("storageClassName") or "")
    )


def is_default_class(storage_class: JsonObject) -> bool:
    notes = annotations_of(storage_class)
    return "true" in (notes.get(DEFAULT_CLASS), notes.get(_DEFAULT_CLASS_BETA))


def waits_for_consumer(storage_class: JsonObject | None) -> bool:
    return (storage_class or {}).get("volumeBindingMode") == "WaitForFirstConsumer"


def is_bound(claim: JsonObject) -> bool:
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations_of(claim)


def is_for(volume: JsonObject, claim: JsonObject) -> bool:
    """The volume names this claim, whether or not the claim names it."""
    reference = volume["spec"].get("claimRef")
    return (
        reference is not None
        and reference.get("name") == name_of(claim)
        and reference.get("namespace") == namespace_of(claim)
        and reference.get("uid") in (None, "", uid_of(claim))
    )


def claim_reference(claim: JsonObject) -> JsonObject:
    return {
        "kind": "PersistentVolumeClaim",
        "namespace": namespace_of(claim),
        "name": name_of(claim),
        "uid": uid_of(claim),
        "apiVersion": "v1",
        "resourceVersion": claim["metadata"].get("resourceVersion", ""),
    }


def mismatch(volume: JsonObject, claim: JsonObject) -> str:
    """Why a claim cannot have the volume it asks for by name; empty when it can."""
    if is_deleting(volume):
        return f'the volume is marked for deletion "{name_of(volume)}"'
    if _size(volume) < _wanted_size(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if not _same_mode(volume, claim):
        return "incompatible volumeMode"
    if not _has_access(volume, claim):
        return "incompatible accessMode"
    return ""


def find_match(
    claim: JsonObject,
    volumes: Iterable[JsonObject],
    *,
    node: tuple[str, Mapping[str, str]] | None = None,
    excluded: Collection[str] = (),
    delayed: bool = False,
) -> JsonObject | None:
    """The volume made for the claim, or the smallest free one that fits it.

    ``node`` (name and labels) restricts to volumes that node reaches. Without one, a ``delayed``
    claim takes only a volume that names it.
    """
    fitting = [
        volume
        for volume in volumes
        if name_of(volume) not in excluded
        and (volume["spec"].get("claimRef") is None or is_for(volume, claim))
        and _size(volume) >= _wanted_size(claim)
        and _same_mode(volume, claim)
        and _has_access(volume, claim)
        and not is_deleting(volume)
    ]
    meant = next((volume for volume in fitting if is_for(volume, claim)), None)
    if meant is not None:
        return meant if node is None or reaches(meant, *node) else None
    if node is None and delayed:
        return None
    free = [volume for volume in fitting if _is_free(volume, claim)]
    if node is not None:
        free = [volume for volume in free if reaches(volume, *node)]
        return min(free, key=lambda each: (_size(each), name_of(each)), default=None)
    # Without a node, a volume that can do less is taken before one that can do more.
    return min(free, key=_cost, default=None)


def _cost(volume: JsonObject) -> tuple[int, Fraction, str]:
    return len(volume["spec"].get("accessModes") or ()), _size(volume), name_of(volume)


def _is_free(volume: JsonObject, claim: JsonObject) -> bool:
    selector = claim["spec"].get("selector")
    return (
        (volume.get("status") or {}).get("phase") == "Available"
        and class_of(volume) == class_of(claim)
        and (selector is None or from_label_selector(selector).matches(labels_of(volume)))
    )


def offers(volume: JsonObject) -> tuple[str, ...]:
    """The class whose claims may look at the volume: none once it is taken (for indexes)."""
    phase = (volume.get("status") or {}).get("phase")
    return () if phase in ("Bound", "Released", "Failed") else (class_of(volume),)


def meant_for(volume: JsonObject) -> tuple[str, ...]:
    """The key of the claim the volume names (for indexes)."""
    reference = volume["spec"].get("claimRef")
    return () if reference is None else (f"{reference['namespace']}/{reference['name']}",)


def reaches(volume: JsonObject, name: str, labels: Mapping[str, str]) -> bool:
    """Say whether a node can use the volume, by the volume's node affinity."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    if required is None:
        return True
    return any(matches_term(name, labels, term) for term in required["nodeSelectorTerms"] or ())


def in_topology(storage_class: JsonObject, labels: Mapping[str, str]) -> bool:
    """Say whether the class may make volumes for a node with these labels."""
    terms = storage_class.get("allowedTopologies") or ()
    return not terms or any(
        all(
            matches_expression(labels, {**each, "operator": "In"})
            for each in term.get("matchLabelExpressions") or ()
        )
        for term in terms
    )


def _size(volume: JsonObject) -> Fraction:
    return parse_quantity((volume["spec"].get("capacity") or {}).get("storage") or "0")


def _wanted_size(claim: JsonObject) -> Fraction:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return parse_quantity(requests.get("storage") or "0")


def _same_mode(volume: JsonObject, claim: JsonObject) -> bool:
    modes = [each["spec"].get("volumeMode") or "Filesystem" for each in (volume, claim)]
    return bool(modes[0] == modes[1])


def _has_access(volume: JsonObject, claim: JsonObject) -> bool:
    have = volume["spec"].get("accessModes") or ()
    return set(claim["spec"].get("accessModes") or ()) <= set(have)
