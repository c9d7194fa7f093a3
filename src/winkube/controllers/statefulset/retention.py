"""Who owns the claims of a set, so that they go when persistentVolumeClaimRetentionPolicy says.

With whenDeleted: Delete the set owns its claims. With whenScaled: Delete the claims of a pod that
is scaled away belong to that pod, and go with it. A claim another controller owns is left alone.
"""

from winkube.api.meta import name_of, owner_references, to_owner_reference, uid_of
from winkube.base.types import JsonObject
from winkube.controllers.statefulset.identity import ordinal_of, ordinals_of

RETAIN, DELETE = "Retain", "Delete"


def policy_of(stateful_set: JsonObject) -> tuple[str, str]:
    """Whether to keep claims when the set is (deleted, scaled down)."""
    policy = stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    return policy.get("whenDeleted") or RETAIN, policy.get("whenScaled") or RETAIN


def has_conflict(claim: JsonObject, stateful_set: JsonObject, pod: JsonObject) -> bool:
    """Somebody else controls the claim, or a namesake of ours does."""
    if policy_of(stateful_set) == (RETAIN, RETAIN):
        return False
    for reference in owner_references(claim):
        ours = next((each for each in (stateful_set, pod) if _names(reference, each)), None)
        if ours is not None:
            if reference.get("uid") != uid_of(ours):
                return True
        elif reference.get("controller"):
            return True
    return False


def is_stale(claim: JsonObject, owner: JsonObject) -> bool:
    """The claim belongs to an earlier object of this name and is about to go with it."""
    named = next((each for each in owner_references(claim) if _names(each, owner)), None)
    return named is not None and named.get("uid") != uid_of(owner)


def wanted_owners(
    claim: JsonObject, stateful_set: JsonObject, pod: JsonObject
) -> list[JsonObject] | None:
    """The owner references the claim should have; None when they are right."""
    have = owner_references(claim)
    if is_stale(claim, stateful_set) or is_stale(claim, pod):
        return None
    ours = {uid_of(stateful_set), uid_of(pod)} - {""}
    mine = [each for each in have if each.get("uid") in ours]
    others = [each for each in have if not _names(each, stateful_set) and not _names(each, pod)]
    if has_conflict(claim, stateful_set, pod):
        return others if mine else None
    owner = _owner(stateful_set, pod)
    wanted = [] if owner is None else [to_owner_reference(owner)]
    right = {each.get("uid") for each in mine} == {each["uid"] for each in wanted}
    if right and all(each.get("controller") for each in mine):
        return None
    return [*others, *wanted]


def _owner(stateful_set: JsonObject, pod: JsonObject) -> JsonObject | None:
    deleted, scaled = policy_of(stateful_set)
    if scaled == DELETE and ordinal_of(pod) not in ordinals_of(stateful_set):
        return {"apiVersion": "v1", "kind": "Pod", **pod}
    return stateful_set if deleted == DELETE else None


def _names(reference: JsonObject, owner: JsonObject) -> bool:
    # Pods of a list carry no kind of their own.
    kind = owner.get("kind") or "Pod"
    version = owner.get("apiVersion") or "v1"
    return (reference.get("apiVersion"), reference.get("kind"), reference.get("name")) == (
        version,
        kind,
        name_of(owner),
    )
