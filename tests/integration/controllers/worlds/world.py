"""What a world is: workloads that begin, change, and have one end whatever happens on the way."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from winkube.api.errors import ApiError
from winkube.api.meta import is_deleting, name_of
from winkube.api.volumes import EXTERNAL_FINALIZER
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import PERSISTENTVOLUMES, Resource
from winkube.client.rest import ApiClient

ENDS = {"simulation.winkube.dev/exit": "after=0.1,code=0"}
TWO = {"template": {"spec": {"containers": [{"name": "c", "image": "two"}]}}}


class World(Protocol):
    """``disturb`` is done over and over while there is trouble; ``state`` is what a user sees."""

    # What somebody else writes to all the time.
    touched: Sequence[Resource]

    async def begin(self, client: ApiClient) -> None: ...

    async def change(self, client: ApiClient) -> None: ...

    async def disturb(self, client: ApiClient, rng: random.Random) -> None: ...

    async def state(self, client: ApiClient) -> JsonObject: ...

    def is_done(self, found: JsonObject) -> bool: ...


def template(app: str, image: str = "one", notes: dict[str, str] | None = None) -> JsonObject:
    return {
        "metadata": {"labels": {"app": app}, "annotations": notes or {}},
        "spec": {"containers": [{"name": "c", "image": image}], "terminationGracePeriodSeconds": 1},
    }


def workload(name: str, **spec: Any) -> JsonObject:
    body = {"selector": {"matchLabels": {"app": name}}, "template": template(name), **spec}
    return {"metadata": {"name": name}, "spec": body}


def job(name: str, notes: dict[str, str], **spec: Any) -> JsonObject:
    made = template(name, notes=notes)
    made["spec"]["restartPolicy"] = "Never"
    return {"metadata": {"name": name}, "spec": {"template": made, **spec}}


async def items(client: ApiClient, resource: Resource, **where: Any) -> list[JsonObject]:
    found: list[JsonObject] = (await client.list(resource, **where))["items"]
    return found


def app_of(obj: JsonObject) -> str:
    return str((obj["metadata"].get("labels") or {}).get("app", ""))


async def touch(client: ApiClient, resources: Sequence[Resource], rng: random.Random) -> None:
    """A write that makes a controller's next one a conflict."""
    resource = rng.choice(resources)
    with contextlib.suppress(ApiError):
        place = "default" if resource.namespaced else None
        found = await items(client, resource, namespace=place)
        if found:
            note = {"metadata": {"annotations": {"touched": str(rng.randrange(1 << 30))}}}
            await client.patch(resource, name_of(rng.choice(found)), note, namespace=place)


async def until(holds: Callable[[], Awaitable[object]], seconds: float = 120.0) -> None:
    """Wait, through any trouble, for what a change needs to find."""
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - only the server knows
            await asyncio.sleep(0.05)


async def remove_folders(client: ApiClient) -> None:
    """What kubelets do with volumes that are folders of theirs."""
    while True:
        with contextlib.suppress(ApiError, TransportError):
            for volume in await items(client, PERSISTENTVOLUMES):
                have = volume["metadata"].get("finalizers") or []
                if is_deleting(volume) and EXTERNAL_FINALIZER in have:
                    volume["metadata"]["finalizers"] = [
                        each for each in have if each != EXTERNAL_FINALIZER
                    ]
                    await client.update(PERSISTENTVOLUMES, volume)
        await asyncio.sleep(0.2)
