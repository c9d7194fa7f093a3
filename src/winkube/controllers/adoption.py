"""Who controls an object: claim what matches the selector, release what no longer does.

An object controlled by another is left alone. A dependent without a controller that matches is
adopted, one of ours that stopped matching is released; neither happens while the owner is being
deleted (kubernetes: controller_ref_manager.go).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from winkube.api.errors import InvalidError, NotFoundError
from winkube.api.meta import (
    controller_of,
    is_deleting,
    name_of,
    namespace_of,
    owner_references,
    to_owner_reference,
    uid_of,
)
from winkube.base.types import JsonObject
from winkube.client.resource import Resource
from winkube.client.rest import ApiClient

Predicate = Callable[[JsonObject], bool]


@dataclass(frozen=True, slots=True)
class Claims:
    owned: tuple[JsonObject, ...] = ()
    adopt: tuple[JsonObject, ...] = ()
    release: tuple[JsonObject, ...] = ()


def plan_claims(owner: JsonObject, wants: Predicate, candidates: Iterable[JsonObject]) -> Claims:
    owned: list[JsonObject] = []
    adopt: list[JsonObject] = []
    release: list[JsonObject] = []
    for obj in candidates:
        controller = controller_of(obj)
        if controller is not None:
            if controller.get("uid") == uid_of(owner):
                (owned if wants(obj) or is_deleting(owner) else release).append(obj)
        elif wants(obj) and not is_deleting(owner) and not is_deleting(obj):
            adopt.append(obj)
    return Claims(tuple(owned), tuple(adopt), tuple(release))


async def apply_claims(
    client: ApiClient,
    resource: Resource,
    owner: JsonObject,
    claims: Claims,
    *,
    finalizer: str | None = None,
) -> tuple[JsonObject, ...]:
    """Write the adoptions and releases; what is ours afterwards.

    What is ours bears the finalizer, if one is given.
    """
    adopted = []
    for obj in claims.adopt:
        fields: JsonObject = {
            "ownerReferences": [*owner_references(obj), to_owner_reference(owner)]
        }
        if finalizer is not None:
            fields["finalizers"] = [*_others(obj, finalizer), finalizer]
        changed = await _patch(client, resource, obj, fields)
        if changed is not None:
            adopted.append(changed)
    for obj in claims.release:
        references = [entry for entry in owner_references(obj) if entry["uid"] != uid_of(owner)]
        fields = {"ownerReferences": references or None}
        if finalizer is not None:
            fields["finalizers"] = _others(obj, finalizer) or None
        await _patch(client, resource, obj, fields)
    return (*claims.owned, *adopted)


def _others(obj: JsonObject, finalizer: str) -> list[str]:
    found = obj["metadata"].get("finalizers") or ()
    return [entry for entry in found if entry != finalizer]


async def _patch(
    client: ApiClient, resource: Resource, obj: JsonObject, fields: JsonObject
) -> JsonObject | None:
    # The uid and version keep us from touching a namesake or racing another controller.
    metadata = {
        "uid": uid_of(obj),
        "resourceVersion": obj["metadata"]["resourceVersion"],
        **fields,
    }
    try:
        return await client.patch(
            resource, name_of(obj), {"metadata": metadata}, namespace=namespace_of(obj) or None
        )
    except (NotFoundError, InvalidError):
        # Gone, or another's meanwhile. A conflict is raised: whoever acted on what it has without
        # this one would make a second one.
        return None
