"""pods/eviction: a deletion that asks the pod's disruption budget first."""

from typing import Final

from aiohttp import web

from winkube.api.errors import InternalError, TooManyRequestsError
from winkube.api.selectors import from_label_selector
from winkube.apiserver.body import decode, read_body, require_object
from winkube.apiserver.call import Call, not_allowed, reply_json
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.registry.delete import DeleteOptions, delete
from winkube.apiserver.registry.update import store_update
from winkube.apiserver.subresource.binding import SUCCESS
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

_ENDED: Final = ("Succeeded", "Failed")


class Eviction:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb != "create":
            raise not_allowed()
        raw = await read_body(call.request)
        content_type = call.request.headers.get("Content-Type", "")
        document = require_object(await decode(raw, content_type)) if raw.strip() else {}
        options = DeleteOptions.parse(
            require_object(document.get("deleteOptions") or {}), call.query
        )
        item = get(call.served, *call.place)
        pod = item.load()
        write = WriteOptions(call.user, dry_run=options.dry_run)
        running = (pod.get("status") or {}).get("phase") not in (*_ENDED, "Pending")
        if running and not pod["metadata"].get("deletionTimestamp"):
            await self._spend(item, write)
        await delete(self._registry, call.served, call.place, options, write)
        return reply_json(SUCCESS, 201)

    async def _spend(self, item: Item, write: WriteOptions) -> None:
        """Take one disruption from the budget that covers this pod, if one does."""
        budgets = self._registry.resources.find("policy", "v1", "poddisruptionbudgets")
        if budgets is None:
            return
        covering = [
            (entry, obj)
            for entry in budgets.cache.items(budgets.folder(item.namespace))
            if from_label_selector((obj := entry.load())["spec"].get("selector")).matches(
                item.labels
            )
        ]
        if len(covering) > 1:
            raise InternalError(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                "does not support."
            )
        for entry, budget in covering:
            status = budget.setdefault("status", {})
            if (status.get("observedGeneration") or 0) < (
                budget["metadata"].get("generation") or 0
            ):
                raise _refused("The disruption budget is still being processed by the server.", 10)
            if (status.get("disruptionsAllowed") or 0) <= 0:
                raise _over_budget(entry.name, status)
            status["disruptionsAllowed"] -= 1
            now = to_rfc3339(self._registry.clock.now())
            status.setdefault("disruptedPods", {})[item.name] = now
            await store_update(self._registry, budgets, entry, budget, write)


def _over_budget(name: str, status: JsonObject) -> TooManyRequestsError:
    error = _refused("Cannot evict pod as it would violate the pod's disruption budget.", 0)
    desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    text = f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
    error.details = {"causes": [{"reason": "DisruptionBudget", "message": text}]}
    return error


def _refused(message: str, retry: int) -> TooManyRequestsError:
    details: JsonObject = {"retryAfterSeconds": retry} if retry else {}
    return TooManyRequestsError(message, details=details)
