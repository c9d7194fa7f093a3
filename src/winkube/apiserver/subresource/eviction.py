"""pods/eviction: a deletion that asks the pod's disruption budget first."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from aiohttp import web

from winkube.api.errors import (
    BadRequestError,
    ConflictError,
    InternalError,
    InvalidError,
    UnexplainedError,
)
from winkube.api.meta import is_deleting, set_condition
from winkube.api.selector.labels import from_label_selector
from winkube.api.validation.problems import Problems
from winkube.apiserver.admission.node_restriction import check_eviction
from winkube.apiserver.auth.user import node_of
from winkube.apiserver.call import Call, not_allowed, reply_json
from winkube.apiserver.delete_options import DeleteOptions
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions, every
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.registry.delete import delete
from winkube.apiserver.registry.update import ModifiedError, store_update
from winkube.apiserver.served import Served
from winkube.apiserver.subresource.admitted import Creation
from winkube.apiserver.subresource.binding import SUCCESS
from winkube.apiserver.subresource.budget import (
    being_processed,
    is_covered,
    may_go_free,
    spend,
)
from winkube.apiserver.subresource.posted import read_posted
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

_ATTEMPTS: Final = 20
_TOO_MANY: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)


def _options(document: JsonObject, call: Call) -> DeleteOptions:
    """How to delete, as the body says; the request itself can also ask for nothing to happen."""
    said, asked = document.get("deleteOptions") or {}, every(call.query, "dryRun")
    inner = said.get("dryRun") or []
    if inner and asked and inner != asked:
        lists = " and ".join(f"[{' '.join(each)}]" for each in (asked, inner))
        raise UnexplainedError(f"Non-matching dry-run options in request and content: {lists}")
    if said.get("ignoreStoreReadErrorWithClusterBreakingPotential"):
        problems = Problems()
        path = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential"
        problems.invalid(
            path, True, "can not be set for pod eviction, try after removing the option"
        )
        raise InvalidError.of("Eviction", call.place[1], problems.causes, group="policy")
    return DeleteOptions.of_body({**said, "dryRun": inner or asked})


class _AmbiguousBudgetError(InternalError):
    reason = ""  # upstream gives none


class Eviction:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb != "create":
            raise not_allowed()
        document, write = await read_posted(self._registry, call)
        if node_of(call.user):
            item = call.served.cache.get(call.served.key(*call.place))
            check_eviction(call.user, call.place[1], None if item is None else item.load())
        creation = Creation(self._registry.admission, call, document, write)
        await creation.admit()
        if document["metadata"].get("name") != call.place[1]:
            raise BadRequestError("name in URL does not match name in Eviction object")
        options = _options(document, call)
        write.dry_run = options.dry_run
        await creation.validate()
        await self._evict(call, options, write)
        return reply_json(SUCCESS, 201, warnings=call.warnings)

    async def _evict(self, call: Call, options: DeleteOptions, write: WriteOptions) -> None:
        item = get(call.served, *call.place)
        pod = item.load()
        free = ""
        if is_covered(pod):
            free = await self._ask_budget(item, pod, write)
        elif (pod.get("status") or {}).get("phase") == "Pending" and not is_deleting(pod):
            free = "pending"
        if free and options.resource_version is None:
            # Had it become ready since we looked, it would not be free.
            options = replace(options, resource_version=str(item.revision))
        try:
            options = await self._mark(call, options, write)
            options.check()
            # Who is asked about evictions is not asked about the deletion.
            await delete(self._registry, call.served, call.place, options, write, asks=False)
        except ConflictError:
            if free and free != "pending":
                raise being_processed(free) from None
            raise

    async def _ask_budget(self, item: Item, pod: JsonObject, write: WriteOptions) -> str:
        """Spend from the budget that covers this pod; its name when the pod goes for free."""
        budgets = self._registry.resources.find("policy", "v1", "poddisruptionbudgets")
        if budgets is None:
            return ""
        near = budgets.cache.items(budgets.folder(item.namespace))
        # Long ones, and many, are read beside what others want.
        effort = WriteOptions(write.user, weight=sum(len(each.data) for each in near))
        covering = await self._registry.work(effort, _covering, near, item)
        if len(covering) > 1:
            raise _AmbiguousBudgetError(_TOO_MANY)
        if not covering:
            return ""
        if may_go_free(covering[0].load(), pod):
            return covering[0].name
        await self._spend(budgets, covering[0], item.name, write)
        return ""

    async def _spend(self, budgets: Served, entry: Item, pod: str, write: WriteOptions) -> None:
        for attempt in range(_ATTEMPTS):
            budget = entry.load()
            spend(budget, pod, to_rfc3339(self._registry.clock.now()))
            try:
                await store_update(self._registry, budgets, entry, budget, write)
            except ModifiedError:
                if attempt == _ATTEMPTS - 1:
                    raise
                entry = get(budgets, entry.namespace, entry.name)
            else:
                return

    async def _mark(self, call: Call, options: DeleteOptions, write: WriteOptions) -> DeleteOptions:
        """Let the pod's owner see why it goes; the deletion's conditions hold for this too."""
        item = get(call.served, *call.place)
        pod = item.load()
        wanted = options.resource_version
        matches = wanted in (None, str(item.revision)) and options.uid in (
            None,
            pod["metadata"].get("uid"),
        )
        if options.dry_run or not matches:
            return options
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        set_condition(pod, condition, to_rfc3339(self._registry.clock.now()))
        try:
            marked = await store_update(self._registry, call.served, item, pod, write)
        except ModifiedError:
            if wanted is not None:
                raise
            return options
        return (
            options if wanted is None else replace(options, resource_version=str(marked.revision))
        )


def _covering(budgets: Iterable[Item], pod: Item) -> list[Item]:
    return [
        each
        for each in budgets
        if from_label_selector(each.load()["spec"].get("selector")).matches(pod.labels)
    ]
