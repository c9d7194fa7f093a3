"""What becomes of a claim and of a volume: decisions only.

Theory of operation: a claim and a volume are bound when each names the other. The volume is written
first; whatever happens between the two writes, the next look at either finishes the pair or takes
it apart (kubernetes: pv_controller.go).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from winkube.api.meta import annotations_of, name_of, uid_of
from winkube.api.volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    PROVISIONED_BY,
    SELECTED_NODE,
    claim_reference,
    class_of,
    find_match,
    is_for,
    mismatch,
    waits_for_consumer,
)
from winkube.base.types import JsonObject
from winkube.controllers.note import Note

NORMAL, WARNING = "Normal", "Warning"
IN_TREE: Final = "kubernetes.io/"
_LOST_REFERENCE: Final = (
    "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
)
_LOST_VOLUME: Final = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
_MISBOUND: Final = "Two claims are bound to the same volume, this one is bound incorrectly"
_NOTHING: Final = "no persistent volumes available for this claim and no storage class is set"


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """``bind`` to this volume, have one made by ``provisioner``, or be in ``phase``."""

    bind: JsonObject | None = None
    provisioner: str = ""
    phase: str = ""
    note: Note | None = None
    # The note is about becoming so, not about being so.
    once: bool = False


@dataclass(frozen=True, slots=True)
class ClaimView:
    claim: JsonObject
    volumes: Sequence[JsonObject]
    named: JsonObject | None = None
    storage_class: JsonObject | None = None
    waiting_pods: Sequence[str] = field(default=())


def plan_claim(view: ClaimView) -> ClaimPlan:
    if BIND_COMPLETED in annotations_of(view.claim):
        return _plan_bound(view)
    if view.claim["spec"].get("volumeName"):
        return _plan_named(view)
    delayed = waits_for_consumer(view.storage_class)
    found = find_match(view.claim, view.volumes, delayed=delayed)
    if found is not None:
        return ClaimPlan(bind=found)
    if delayed and SELECTED_NODE not in annotations_of(view.claim):
        return ClaimPlan(phase="Pending", note=_waiting(view.waiting_pods))
    if class_of(view.claim):
        return _plan_provisioning(view)
    return ClaimPlan(phase="Pending", note=Note(NORMAL, "FailedBinding", _NOTHING))


def _plan_bound(view: ClaimView) -> ClaimPlan:
    if not view.claim["spec"].get("volumeName"):
        return ClaimPlan(phase="Lost", note=Note(WARNING, "ClaimLost", _LOST_REFERENCE), once=True)
    if view.named is None:
        return ClaimPlan(phase="Lost", note=Note(WARNING, "ClaimLost", _LOST_VOLUME), once=True)
    reference = view.named["spec"].get("claimRef")
    if reference is None or reference.get("uid") == uid_of(view.claim):
        return ClaimPlan(bind=view.named)
    return ClaimPlan(phase="Lost", note=Note(WARNING, "ClaimMisbound", _MISBOUND), once=True)


def _plan_named(view: ClaimView) -> ClaimPlan:
    """The user asked for one volume by name."""
    volume = view.named
    if volume is None:
        return ClaimPlan(phase="Pending")
    if volume["spec"].get("claimRef") is None:
        why = mismatch(volume, view.claim)
        if not why:
            return ClaimPlan(bind=volume)
        said = f'Cannot bind to requested volume "{name_of(volume)}": {why}'
        return ClaimPlan(phase="Pending", note=Note(WARNING, "VolumeMismatch", said))
    if is_for(volume, view.claim):
        return ClaimPlan(bind=volume)
    said = f'volume "{name_of(volume)}" already bound to a different claim.'
    return ClaimPlan(phase="Pending", note=Note(WARNING, "FailedBinding", said))


def _plan_provisioning(view: ClaimView) -> ClaimPlan:
    if view.storage_class is None:
        said = f'storageclass.storage.k8s.io "{class_of(view.claim)}" not found'
        return ClaimPlan(note=Note(WARNING, "ProvisioningFailed", said))
    provisioner = str(view.storage_class.get("provisioner") or NO_PROVISIONER)
    if provisioner.startswith(IN_TREE):
        said = f"no volume plugin matched name: {provisioner}"
        return ClaimPlan(note=Note(WARNING, "ProvisioningFailed", said))
    said = (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' "
        "or manually by the system administrator. If volume creation is delayed, please verify "
        "that the provisioner is running and correctly registered."
    )
    return ClaimPlan(provisioner=provisioner, note=Note(NORMAL, "ExternalProvisioning", said))


def _waiting(pods: Sequence[str]) -> Note:
    if not pods:
        said = "waiting for first consumer to be created before binding"
        return Note(NORMAL, "WaitForFirstConsumer", said)
    noun = "pods" if len(pods) > 1 else "pod"
    said = f"waiting for {noun} {','.join(pods)} to be scheduled"
    return Note(NORMAL, "WaitForPodScheduled", said)


def bound_volume(volume: JsonObject, claim: JsonObject) -> JsonObject:
    """The volume as it names the claim; the same object when it does already."""
    reference = volume["spec"].get("claimRef") or {}
    ours = is_for(volume, claim)
    if ours and reference.get("uid"):
        return volume
    metadata = dict(volume["metadata"])
    if not ours:
        # We chose: should the pair come apart, we may give the volume to another.
        metadata["annotations"] = {**annotations_of(volume), BOUND_BY_CONTROLLER: "yes"}
    spec = {**volume["spec"], "claimRef": claim_reference(claim)}
    return {**volume, "metadata": metadata, "spec": spec}


def bound_claim(claim: JsonObject, volume: JsonObject) -> JsonObject:
    """The claim as it names the volume; the same object when it does already."""
    notes, spec = dict(annotations_of(claim)), claim["spec"]
    if spec.get("volumeName") != name_of(volume):
        spec = {**spec, "volumeName": name_of(volume)}
        notes[BOUND_BY_CONTROLLER] = "yes"
    notes[BIND_COMPLETED] = "yes"
    if spec is claim["spec"] and notes == annotations_of(claim):
        return claim
    return {**claim, "metadata": {**claim["metadata"], "annotations": notes}, "spec": spec}


def claim_status(claim: JsonObject, phase: str, volume: JsonObject | None) -> JsonObject:
    old = claim.get("status") or {}
    gone = ("accessModes", "capacity", "currentVolumeAttributesClassName")
    status = {key: value for key, value in old.items() if volume is not None or key not in gone}
    if volume is not None:
        status["accessModes"] = volume["spec"].get("accessModes") or []
        if old.get("phase") != phase:
            # Later the size is what a resize made it.
            status["capacity"] = volume["spec"].get("capacity") or {}
    return {**status, "phase": phase}


@dataclass(frozen=True, slots=True)
class VolumePlan:
    phase: str = ""
    reclaim: bool = False
    # Look at the claim instead: it has to name this volume, or refuse it.
    ask_claim: bool = False
    unbind: bool = False
    note: Note | None = None
    claim_note: Note | None = None


def plan_volume(volume: JsonObject, claim: JsonObject | None) -> VolumePlan:
    """``claim`` is the one the volume names, if it lives and has the uid the volume knows."""
    reference = volume["spec"].get("claimRef")
    if reference is None or not reference.get("uid"):
        return VolumePlan(phase="Available")
    if claim is None:
        return VolumePlan(phase="Released", reclaim=True)
    chosen = claim["spec"].get("volumeName")
    if not chosen:
        return _plan_asking(volume, claim)
    if chosen == name_of(volume):
        return VolumePlan(phase="Bound")
    made = PROVISIONED_BY in annotations_of(volume)
    if made and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
        return VolumePlan(phase="Released", reclaim=True)
    return VolumePlan(unbind=True)


def _plan_asking(volume: JsonObject, claim: JsonObject) -> VolumePlan:
    modes = [each["spec"].get("volumeMode") or "Filesystem" for each in (volume, claim)]
    if modes[0] == modes[1]:
        return VolumePlan(ask_claim=True)
    why = "due to incompatible volumeMode."
    head = "Cannot bind PersistentVolume"
    said = f'{head} to requested PersistentVolumeClaim "{name_of(claim)}" {why}'
    back = f'{head} "{name_of(volume)}" to requested PersistentVolumeClaim {why}'
    return VolumePlan(
        note=Note(WARNING, "VolumeMismatch", said),
        claim_note=Note(WARNING, "VolumeMismatch", back),
    )


def unbound_volume(volume: JsonObject) -> JsonObject:
    """Without its claim if we chose it; a claim the user wrote in stays by name."""
    notes, spec = dict(annotations_of(volume)), dict(volume["spec"])
    if notes.pop(BOUND_BY_CONTROLLER, None) is not None:
        del spec["claimRef"]
    else:
        kept = {key: value for key, value in spec["claimRef"].items() if key != "uid"}
        spec["claimRef"] = kept
    metadata = {key: value for key, value in volume["metadata"].items() if key != "annotations"}
    if notes:
        metadata["annotations"] = notes
    return {**volume, "metadata": metadata, "spec": spec}


def plan_reclaim(volume: JsonObject) -> tuple[bool, Note | None]:
    """Whether to delete a released volume here, or why that cannot be done."""
    spec = volume["spec"]
    policy = spec.get("persistentVolumeReclaimPolicy") or "Retain"
    if policy == "Retain":
        return False, None
    if policy == "Recycle":
        said = "No recycler plugin found for the volume!"
        return False, Note(WARNING, "VolumeFailedRecycle", said)
    maker = annotations_of(volume).get(PROVISIONED_BY, "")
    if "csi" in spec or (maker and not maker.startswith(IN_TREE)):
        # Whoever made it deletes it.
        return False, None
    return _plan_in_tree(volume)


def _plan_in_tree(volume: JsonObject) -> tuple[bool, Note | None]:
    path = (volume["spec"].get("hostPath") or {}).get("path")
    if path is None:
        said = (
            f'error getting deleter volume plugin for volume "{name_of(volume)}": '
            "no deletable volume plugin matched"
        )
    elif not (path.startswith("/tmp/") and len(path) > len("/tmp/")):
        said = f"host_path deleter only supports /tmp/.+ but received provided {path}"
    else:
        return True, None
    return False, Note(WARNING, "VolumeFailedDelete", said)
