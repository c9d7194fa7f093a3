"""Keeps the flow schemas and priority levels every cluster has.

Says of each schema whether the level it names exists. Objects whose annotation says so follow the
built-in ones; the mandatory ones always do.
"""

import asyncio
import logging
from typing import Final

from winkube.api.decode import clone
from winkube.api.errors import AlreadyExistsError, ApiError
from winkube.api.flow_objects import AUTO_UPDATE, FLOW_SCHEMAS, MANDATORY, PRIORITY_LEVELS
from winkube.apiserver.auth.user import SELF
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.apply import apply
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.registry.create import create
from winkube.apiserver.registry.update import STATUS, update
from winkube.apiserver.served import Served
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

log = logging.getLogger(__name__)

_GROUP: Final = "flowcontrol.apiserver.k8s.io"
_KEEP_SECONDS: Final = 2.0
_PRODUCER: Final = "api-priority-and-fairness-config-producer-v1"
_CONSUMER: Final = "api-priority-and-fairness-config-consumer-v1"


class FlowControl:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._levels = registry.resources.find(_GROUP, "v1", "prioritylevelconfigurations")
        self._schemas = registry.resources.find(_GROUP, "v1", "flowschemas")

    async def run(self) -> None:
        while True:
            try:
                await self.keep()
            except* ApiError as errors:  # such as an object that somebody changes meanwhile
                log.warning("cannot keep flow schemas", extra={"errors": str(errors.exceptions)})
            await asyncio.sleep(_KEEP_SECONDS)

    async def keep(self) -> None:
        levels, schemas = self._levels, self._schemas
        if levels is None or schemas is None:  # a version that does not serve them
            return
        # Side by side: writes that wait together become one commit.
        async with asyncio.TaskGroup() as group:
            for served, wanted in ((levels, PRIORITY_LEVELS), (schemas, FLOW_SCHEMAS)):
                for name, spec in wanted.items():
                    group.create_task(self._ensure(served, name, spec), name=name)
        names = {item.name for item in levels.cache.items()}
        async with asyncio.TaskGroup() as group:
            for item in schemas.cache.items():
                group.create_task(self._judge(schemas, item, names), name=item.name)

    async def _ensure(self, served: Served, name: str, spec: JsonObject) -> None:
        item = served.cache.get(served.key("", name))
        options = WriteOptions(SELF, field_manager=_PRODUCER)
        if item is None:
            kind = served.kind
            made = {
                "kind": kind.kind,
                "apiVersion": kind.api_version,
                "metadata": {"name": name, "annotations": {AUTO_UPDATE: "true"}},
                "spec": clone(spec),
            }
            try:
                await create(self._registry, served, "", made, options)
            except AlreadyExistsError:
                log.debug("exists", extra={"key": name})
            return
        obj = item.load()
        if _follows(obj) and _fixed(name, obj, spec) != obj["spec"]:
            obj["spec"] = _fixed(name, obj, spec)
            await update(self._registry, served, item, obj, options)

    async def _judge(self, served: Served, item: Item, levels: set[str]) -> None:
        obj = item.load()
        condition = plan_condition(obj, levels, to_rfc3339(self._registry.clock.now()))
        if condition is None:
            return
        wanted = {
            "apiVersion": obj["apiVersion"],
            "kind": obj["kind"],
            "metadata": {"name": item.name},
            "status": {"conditions": [condition]},
        }
        options = WriteOptions(SELF, field_manager=_CONSUMER, force=True, applies=True)
        await apply(self._registry, served, ("", item.name), wanted, options, STATUS)


def _follows(obj: JsonObject) -> bool:
    metadata = obj["metadata"]
    if metadata["name"] in MANDATORY:
        return True
    return bool((metadata.get("annotations") or {}).get(AUTO_UPDATE) == "true")


def _fixed(name: str, obj: JsonObject, spec: JsonObject) -> JsonObject:
    """What is exempt may be given shares of its own."""
    given = obj["spec"].get("exempt")
    free = name == "exempt" and "exempt" in spec and given is not None
    return {**clone(spec), "exempt": given} if free else clone(spec)


def plan_condition(obj: JsonObject, levels: set[str], now: str) -> JsonObject | None:
    """Whether the schema's level is missing; None when its status says so already."""
    level = obj["spec"]["priorityLevelConfiguration"]["name"]
    found = level in levels
    said = "and it exists" if found else "but there is no such object"
    what = f'the PriorityLevelConfiguration object named "{level}"'
    wanted = {
        "type": "Dangling",
        "status": "False" if found else "True",
        "lastTransitionTime": now,
        "reason": "Found" if found else "NotFound",
        "message": f"This FlowSchema references {what} {said}",
    }
    old = {c.get("type"): c for c in (obj.get("status") or {}).get("conditions") or ()}
    before = old.get("Dangling") or {}
    if before.get("status") == wanted["status"]:
        wanted["lastTransitionTime"] = before.get("lastTransitionTime", now)
    return None if before == wanted else wanted
