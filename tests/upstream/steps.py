"""The steps scenarios are made of: make, change, remove, wait, look."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.upstream.scenario import KINDS, PATIENCE, Stage, Step, Test
from tests.upstream.settled import normalise_objects

from winkube.api.errors import ApiError
from winkube.client import resource as resources
from winkube.client.rest import PatchType

Json = Any
# Patience that is far longer than any controller needs that has not forgotten.
NUDGE_SECONDS = 10.0
NUDGED = "nudged"


def fill(value: Json, namespace: str) -> Json:
    if isinstance(value, str):
        return value.replace("{ns}", namespace)
    if isinstance(value, dict):
        return {key: fill(entry, namespace) for key, entry in value.items()}
    if isinstance(value, list):
        return [fill(entry, namespace) for entry in value]
    return value


def make(*objects: Json) -> Step:
    async def step(stage: Stage) -> None:
        for obj in objects:
            kind = KINDS[obj["kind"]]
            filled = fill(obj, stage.namespace)
            filled.setdefault("apiVersion", kind.api_version)
            place = stage.namespace if kind.namespaced else None
            await client_says(
                stage, obj["kind"], stage.client.create(kind, filled, namespace=place)
            )

    return step


async def client_says(stage: Stage, kind: str, work: Awaitable[Json]) -> None:
    """A refusal is an answer to compare; what was done is waited for, or tests see the past."""
    try:
        done = await work
    except ApiError as error:
        stage.said.append({"refused": fill_back(error.to_status(), stage.namespace)})
        return
    metadata = done.get("metadata") or {}
    if "resourceVersion" in metadata:
        name, version = metadata["name"], int(metadata["resourceVersion"])
        await stage.wait(
            f"news of {kind} {name}", lambda: stage.knows(kind, name, version), PATIENCE
        )


def fill_back(value: Json, namespace: str) -> Json:
    return normalise_objects([value], namespace, (), {})[0]


def change(
    kind: str, name: str, body: Json, *, sub: str | None = None, strategic: bool = False
) -> Step:
    async def step(stage: Stage) -> None:
        res = KINDS[kind]
        work = stage.client.patch(
            res,
            fill(name, stage.namespace),
            fill(body, stage.namespace),
            namespace=stage.namespace if res.namespaced else None,
            subresource=sub,
            patch_type=PatchType.STRATEGIC if strategic else PatchType.MERGE,
        )
        await client_says(stage, kind, work)

    return step


def remove(kind: str, name: str, policy: str | None = None, grace: int | None = None) -> Step:
    async def step(stage: Stage) -> None:
        res = KINDS[kind]
        options: dict[str, Json] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if policy is not None:
            options["propagationPolicy"] = policy
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        place = stage.namespace if res.namespaced else None
        name_ = fill(name, stage.namespace)
        known = stage.get(kind, name_) or {"metadata": {"uid": ""}}
        uid = known["metadata"]["uid"]
        await client_says(
            stage, kind, stage.client.delete(res, name_, namespace=place, options=options)
        )
        await stage.wait(f"end of {kind} {name}", lambda: stage.ends(kind, name_, uid), PATIENCE)

    return step


def each(kind: str, act: Callable[[str], Step], chosen: Test = bool, limit: int = 1) -> Step:
    """Do something to the first objects for which ``chosen`` holds, by name."""

    async def step(stage: Stage) -> None:
        found = sorted(
            (obj for obj in stage.every(kind) if chosen(obj)), key=lambda o: o["metadata"]["name"]
        )
        for obj in found[:limit]:
            await act(obj["metadata"]["name"])(stage)

    return step


def until(kind: str, name: str, holds: Test, seconds: float = PATIENCE) -> Step:
    async def step(stage: Stage) -> None:
        def check() -> object:
            obj = stage.get(kind, fill(name, stage.namespace))
            return obj is not None and _holds(holds, obj)

        await stage.wait(f"{kind} {name}", check, seconds)

    return step


def persuaded(kind: str, name: str, holds: Test) -> Step:
    """As ``until``, of a controller that may have forgotten that it wanted to look again."""

    async def step(stage: Stage) -> None:
        for number in range(round(PATIENCE / NUDGE_SECONDS)):
            if await stage.sight.until(stage.namespace, check(stage), NUDGE_SECONDS):
                return
            nudge = {"metadata": {"annotations": {NUDGED: str(number)}}}
            await change(kind, name, nudge)(stage)
        stage.said.append({"never": f"{kind} {name}"})

    def check(stage: Stage) -> Callable[[], object]:
        def found() -> object:
            obj = stage.get(kind, name)
            return obj is not None and _holds(holds, obj)

        return found

    return step


def _holds(test: Test, obj: Json) -> object:
    try:
        return test(obj)
    except (KeyError, IndexError, TypeError):
        return False


def gone(kind: str, name: str) -> Step:
    async def step(stage: Stage) -> None:
        await stage.wait(
            f"no {kind} {name}",
            lambda: stage.get(kind, fill(name, stage.namespace)) is None,
            PATIENCE,
        )

    return step


def count(kind: str, number: int, test: Test = bool, seconds: float = PATIENCE) -> Step:
    """Wait until exactly so many objects pass."""

    async def step(stage: Stage) -> None:
        def check() -> bool:
            return sum(bool(_holds(test, obj)) for obj in stage.every(kind)) == number

        await stage.wait(f"{number} x {kind}", check, seconds)

    return step


def told(reason: str, least: int = 1) -> Step:
    """Wait until events say so; how many there are soon depends on retries."""

    async def step(stage: Stage) -> None:
        def check() -> bool:
            found = [event for event in stage.every("Event") if event["reason"] == reason]
            return len(found) >= least

        await stage.wait(f"{reason} x {least}", check, PATIENCE)

    return step


def pause(seconds: float) -> Step:
    async def step(stage: Stage) -> None:
        await asyncio.sleep(seconds)

    return step


def look(name: str) -> Step:
    async def step(stage: Stage) -> None:
        await stage.look(name)

    return step


def evict(chosen: Test = bool) -> Step:
    """Ask for the eviction of the first pod for which ``chosen`` holds, and keep the answer."""

    def act(name: str) -> Step:
        async def step(stage: Stage) -> None:
            body = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": name, "namespace": stage.namespace},
            }
            try:
                answer = await stage.client.create(
                    resources.PODS,
                    body,
                    namespace=stage.namespace,
                    name=name,
                    subresource="eviction",
                )
            except ApiError as error:
                answer = error.to_status()
            stage.said.append({"eviction": fill_back(answer, stage.namespace)})

        return step

    return each("Pod", act, chosen)
