"""ResourceQuota: a write that takes more than a namespace has left is refused.

Theory of operation. What a namespace uses stands in the status of its quotas. Requests of one
namespace line up at a lock; whoever gets it decides about all that wait: each is checked against
what those before it left, then every quota that changed is written once, by compare-and-swap
against the controller that counts anew. So parallel requests never exceed a quota, and a burst
costs a few writes. A namespace without a quota costs a look at the cache. A write that fails after
its charge gives it back, unless somebody has counted since: then the charge is gone already.
"""

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from winkube.api.errors import ApiError
from winkube.api.quota.amounts import (
    Amounts,
    add,
    amounts,
    equal,
    exceeded,
    growth,
    mask,
    negative,
    show,
    to_json,
    without_zeros,
)
from winkube.api.quota.evaluators import Evaluator, evaluator_for
from winkube.api.quota.pod import is_terminating
from winkube.api.quota.scopes import attribute_classes
from winkube.apiserver.admission.chain import NOTHING_SEEN, Admission
from winkube.apiserver.auth.user import User
from winkube.apiserver.item import Item
from winkube.apiserver.registry.update import modified
from winkube.apiserver.served import Resources
from winkube.apiserver.storage import Storage
from winkube.base.clock import Clock
from winkube.base.types import JsonObject

_ATTEMPTS: Final = 16


@dataclass(slots=True, eq=False)
class _Waiting:
    request: Admission
    evaluator: Evaluator
    decided: bool = False
    error: ApiError | None = None
    # Quota key to the amounts taken.
    charges: dict[str, Amounts] = field(default_factory=dict)


@dataclass(slots=True)
class _Quota:
    """One quota while a batch is decided: as stored, and what would be used."""

    item: Item
    obj: JsonObject
    hard: Amounts
    before: Amounts
    used: Amounts

    @property
    def name(self) -> str:
        return self.item.name


@dataclass(slots=True)
class _Line:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: list[_Waiting] = field(default_factory=list)
    users: int = 0


class ResourceQuota:
    def __init__(self, resources: Resources, storage: Storage, clock: Clock) -> None:
        self._quotas = resources.core("resourcequotas")
        self._storage = storage
        self._clock = clock
        self._lines: dict[str, _Line] = {}
        # The last revision of each quota that we wrote: nobody else did since.
        self._written: dict[str, int] = {}

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        cache = self._quotas.cache
        is_free = not len(cache) or not cache.items(self._quotas.folder(namespace))
        return NOTHING_SEEN if is_free else None

    async def validate(self, request: Admission) -> None:
        if not len(self._quotas.cache) or not request.namespace or request.obj is None:
            return
        evaluator = evaluator_for(request.served.kind.group_resource)
        if evaluator is None or not _is_handled(request):
            return
        if not self._quotas.cache.items(self._quotas.folder(request.namespace)):
            return
        mine = _Waiting(request, evaluator)
        line = self._lines.setdefault(request.namespace, _Line())
        line.waiting.append(mine)
        line.users += 1
        try:
            async with line.lock:
                if not mine.decided:
                    await self._decide(request.namespace, line, mine)
        finally:
            line.users -= 1
            if mine in line.waiting:
                line.waiting.remove(mine)  # cancelled before its turn
            if not line.users:
                self._lines.pop(request.namespace, None)
        if mine.error is not None:
            raise mine.error
        if mine.charges:
            request.undo.append(lambda: self._refund(request.namespace, mine.charges))

    async def _decide(self, namespace: str, line: _Line, mine: _Waiting) -> None:
        """Us and everybody who waits; if this is cancelled, each of them decides for itself."""
        batch = [mine, *(each for each in line.waiting if each is not mine)]
        line.waiting = []
        lost: str | None = None
        for _ in range(_ATTEMPTS):
            quotas = self._load(namespace)
            pending = [each for each in batch if not each.decided]
            for each in pending:
                self._check(each, quotas)
            lost = await self._write(quotas, pending)
            if lost is None:
                break
            for each in pending:
                each.decided = each.error is not None
        else:
            for each in batch:
                if not each.decided:
                    each.error = modified(self._quotas, lost or "")
        for each in batch:
            each.decided = True

    def _load(self, namespace: str) -> list[_Quota]:
        quotas = []
        for item in self._quotas.cache.items(self._quotas.folder(namespace)):
            obj = item.load()
            status = obj.get("status") or {}
            used = amounts(status.get("used"))
            quotas.append(_Quota(item, obj, amounts(status.get("hard")), used, used))
        return quotas

    def _check(self, each: _Waiting, quotas: list[_Quota]) -> None:
        """Decide about one request; what it takes is in the quotas' ``used`` afterwards."""
        each.charges.clear()
        try:
            charges = plan_charges(each.request, each.evaluator, quotas, self._clock.now())
        except ApiError as error:
            each.error = error
            return
        if each.request.dry_run:
            return
        for quota, taken in charges:
            quota.used = add(quota.used, taken)
            each.charges[quota.item.key] = taken

    async def _write(self, quotas: list[_Quota], pending: list[_Waiting]) -> str | None:
        """The name of a quota that somebody else wrote meanwhile: decide again."""
        written: list[_Quota] = []
        for quota in quotas:
            if equal(quota.before, quota.used):
                continue
            if not await self._store(quota):
                # What others of the same request took is given back; they are charged anew.
                for done in written:
                    await self._take_back(done.item.key, _charged(done, pending))
                return quota.name
            written.append(quota)
        return None

    async def _store(self, quota: _Quota) -> bool:
        status = {**(quota.obj.get("status") or {}), "used": to_json(quota.used)}
        item = await self._storage.update(self._quotas, quota.item, {**quota.obj, "status": status})
        if item is None:
            return False
        self._written[item.key] = item.revision
        return True

    async def _refund(self, namespace: str, charges: dict[str, Amounts]) -> None:
        line = self._lines.setdefault(namespace, _Line())
        line.users += 1
        try:
            async with line.lock:
                for key, taken in charges.items():
                    await self._take_back(key, taken)
        finally:
            line.users -= 1
            if not line.users:
                self._lines.pop(namespace, None)

    async def _take_back(self, key: str, taken: Amounts) -> None:
        item = self._quotas.cache.get(key)
        if item is None or item.revision != self._written.get(key):
            self._written.pop(key, None)
            return
        obj = item.load()
        status = obj.get("status") or {}
        used = amounts(status.get("used"))
        left = {name: used[name].minus(taken[name]) for name in taken if name in used}
        quota = _Quota(item, obj, {}, used, {**used, **left})
        await self._store(quota)


def _charged(quota: _Quota, pending: list[_Waiting]) -> Amounts:
    total: Amounts = {}
    for each in pending:
        if each.error is None:
            total = add(total, each.charges.get(quota.item.key) or {})
    return total


def _is_handled(request: Admission) -> bool:
    """Whether this operation can change what the object takes."""
    kind, create = request.served.kind, request.operation == "CREATE"
    if request.operation not in ("CREATE", "UPDATE"):
        return False
    resource = kind.group_resource
    if resource == "pods":
        return _is_pod_handled(request, create=create)
    if resource == "persistentvolumeclaims" and request.subresource == "status":
        return _is_resizing(request.obj or {}, request.old or {})
    if request.subresource:
        return False
    updates = ("services", "persistentvolumeclaims", "resourceclaims.resource.k8s.io")
    return create or resource in updates


def _is_pod_handled(request: Admission, *, create: bool) -> bool:
    if request.subresource:
        return request.subresource == "resize" and not create
    return create or is_terminating(request.obj or {}) != is_terminating(request.old or {})


def _is_resizing(new: JsonObject, old: JsonObject) -> bool:
    allocated = [
        amounts((each.get("status") or {}).get("allocatedResources")) for each in (new, old)
    ]
    return not equal(*allocated) or attribute_classes(new) != attribute_classes(old)


def plan_charges(
    request: Admission, evaluator: Evaluator, quotas: list[_Quota], now: float
) -> list[tuple[_Quota, Amounts]]:
    """What a request takes from which quota; ForbiddenError when one has not enough left."""
    obj, old = request.obj or {}, request.old
    concerned = [quota for quota in quotas if _concerns(request, evaluator, quota, obj)]
    if not concerned:
        return []
    usage = evaluator.usage(obj, now)
    below = negative(usage)
    if below:
        names = ",".join(sorted(below))
        raise request.forbidden(f"quota usage is negative for resource(s): {names}")
    delta = growth(usage, evaluator.usage(old, now)) if old is not None else usage
    charges = []
    for quota in concerned:
        same = old is not None and evaluator.matches(quota.obj, old)
        taken = mask(without_zeros(delta if same else usage), quota.hard)
        if taken:
            _check_fits(request, quota, taken)
            charges.append((quota, taken))
    return charges


def _concerns(request: Admission, evaluator: Evaluator, quota: _Quota, obj: JsonObject) -> bool:
    if not evaluator.matches(quota.obj, obj):
        return False
    names = evaluator.matching(quota.hard)
    missing = evaluator.missing(names, obj)
    if missing:
        raise request.forbidden(f"failed quota: {quota.name}: {missing}")
    if any(name not in quota.used for name in names):
        resources = ",".join(names)
        raise request.forbidden(f"status unknown for quota: {quota.name}, resources: {resources}")
    return True


def _check_fits(request: Admission, quota: _Quota, taken: Amounts) -> None:
    if request.subresource == "status":
        return  # it has happened
    over = exceeded(mask(add(quota.used, taken), taken), quota.hard)
    if over:
        raise request.forbidden(
            f"exceeded quota: {quota.name}, requested: {show(mask(taken, over))}, "
            f"used: {show(mask(quota.used, over))}, limited: {show(mask(quota.hard, over))}"
        )
