"""The objects that owners of one kind keep: who is told of a change, and which are whose.

A change of a dependent is work for its controller; one that nobody controls is work for every
owner that would adopt it. Claiming adopts what matches and releases what no longer does
(kubernetes: controller_ref_manager.go).
"""

from collections.abc import Callable, Sequence

from winkube.api.errors import ConflictError, NotFoundError
from winkube.api.meta import (
    controller_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    owner_references,
    uid_of,
)
from winkube.api.selector.labels import LabelSelector
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.client.resource import Resource
from winkube.controllers.adoption import Predicate, apply_claims, plan_claims
from winkube.controllers.controller import Controller
from winkube.controllers.indexes import OWNER, add_owner_indexes, selected_orphans
from winkube.controllers.selecting import ReadSelector, Selecting, read_selector

# Given an owner, says of any object whether it is one the owner wants.
Wants = Callable[[JsonObject], Predicate]
# Called with an owner's key when one of its dependents changed from old to new.
Observer = Callable[[str, JsonObject | None, JsonObject | None], None]


def to_predicate(selector: LabelSelector) -> Predicate:
    return lambda obj: selector.matches(labels_of(obj))


def selects(owner: JsonObject) -> Predicate:
    return to_predicate(read_selector(owner))


class Dependents:
    """``kind`` is that of the owners; ``wants`` is for those that look at more than labels."""

    def __init__(
        self,
        controller: Controller,
        resource: Resource,
        owners: Informer,
        kind: str,
        wants: Wants | None = None,
        *,
        read: ReadSelector = read_selector,
    ) -> None:
        self.resource = resource
        self._client = controller.client
        self._owners = owners
        self._kind = kind
        self._wants = wants
        self._read = read
        self._queue = controller.queue
        self._informer = controller.informer(resource)
        add_owner_indexes(owners)
        add_owner_indexes(self._informer)

    def follow(self, observe: Observer | None = None, *, gather_seconds: float = 0.0) -> None:
        """Queue the owners of what changes; changes come in swarms, which may be gathered."""
        adopters = Selecting(self._owners, self._queue_adopters, self._read)

        def changed(key: str, old: JsonObject | None, new: JsonObject | None) -> None:
            # Most changes are of objects that have no owner, or one of another kind.
            owned = [obj for obj in (old, new) if obj is not None and owner_references(obj)]
            for owner in dict.fromkeys(map(self._owner_key, owned)):
                if owner is None:
                    continue
                if observe is not None:
                    observe(owner, old, new)
                if gather_seconds:
                    self._queue.add_after(owner, gather_seconds)
                else:
                    self._queue.add(owner)
            if new is not None and controller_of(new) is None:
                adopters.changed(namespace_of(new), labels_of(new), new)

        self._informer.on_change(changed)

    def of(self, owner: JsonObject) -> Sequence[JsonObject]:
        """What the owner controls as the cache shows it, wanted or not."""
        return self._informer.by_index(OWNER, uid_of(owner))

    async def claim(
        self, owner: JsonObject, *, finalizer: str | None = None
    ) -> tuple[JsonObject, ...]:
        """Adopt and release; what is the owner's afterwards."""
        selector = self._read(owner)
        orphans = selected_orphans(self._informer, namespace_of(owner), selector)
        wants = to_predicate(selector) if self._wants is None else self._wants(owner)
        claims = plan_claims(owner, wants, (*self.of(owner), *orphans))
        if claims.adopt:
            await self._recheck(owner)
        return await apply_claims(self._client, self.resource, owner, claims, finalizer=finalizer)

    async def _recheck(self, owner: JsonObject) -> None:
        """Ask the server before adopting: what an owner that ends leaves behind must stay free.

        Who adopted by a cache that does not show yet that the owner goes would have the collector
        take along what was to be kept.
        """
        resource, name = self._owners.resource, name_of(owner)
        try:
            fresh = await self._client.get(resource, name, namespace=namespace_of(owner))
        except NotFoundError:
            fresh = {}
        if not fresh or uid_of(fresh) != uid_of(owner) or is_deleting(fresh):
            cause = "it is going, or another has its name"
            raise ConflictError.of(resource.plural, name, cause, group=resource.group)

    def _owner_key(self, obj: JsonObject) -> str | None:
        owner = controller_of(obj)
        if owner is None or owner.get("kind") != self._kind:
            return None
        return f"{namespace_of(obj)}/{owner['name']}"

    def _queue_adopters(self, keys: Sequence[str], obj: JsonObject | None) -> None:
        for key in keys:
            owner = self._owners.get(key)
            if owner is None or obj is None:
                continue
            if self._wants is None or self._wants(owner)(obj):
                self._queue.add(key)
