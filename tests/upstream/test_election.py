"""Who holds the lease leads, whoever made it: the other make waits, and takes over in the end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from winkube.api.errors import NotFoundError
from winkube.base.types import JsonObject
from winkube.client.resource import CONFIGMAPS, EVENTS, LEASES, NAMESPACES, Resource
from winkube.client.rest import ApiClient
from winkube.testing.planes import Make, api_server, controllers, upstream_folder

pytestmark = pytest.mark.skipif(
    upstream_folder() is None, reason="upstream is not built: run `make upstream`"
)

LEASE: Final = "kube-controller-manager"
ELECT: Final = ("--leader-elect=true",)
PATIENCE: Final = 90.0


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110 - the state is another process's
            await asyncio.sleep(0.2)


class Witness:
    """What the API server knows of the election, and whether anybody does the leader's work."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def lease(self) -> JsonObject:
        found = await self._find(LEASES, LEASE, "kube-system")
        return found["spec"] if found is not None else {"holderIdentity": "", "renewTime": ""}

    async def new_leader(self, former: str) -> str:
        async def is_new() -> bool:
            return (await self.lease())["holderIdentity"] not in ("", former)

        await until(is_new)
        return str((await self.lease())["holderIdentity"])

    async def renewal(self) -> None:
        before = await self.lease()

        async def is_renewed() -> bool:
            return bool((await self.lease())["renewTime"] != before["renewTime"])

        await until(is_renewed)

    async def work_is_done(self, namespace: str) -> None:
        """Every namespace gets the certificate of the cluster from a controller."""
        await self._client.create(NAMESPACES, {"metadata": {"name": namespace}})
        await until(lambda: self._find(CONFIGMAPS, "kube-root-ca.crt", namespace))

    async def said(self) -> set[tuple[str, str]]:
        found = await self._client.list(EVENTS, namespace="kube-system")
        events = [event for event in found["items"] if event["reason"] == "LeaderElection"]
        return {(event["source"]["component"], event["message"]) for event in events}

    async def _find(self, resource: Resource, name: str, namespace: str) -> JsonObject | None:
        try:
            return await self._client.get(resource, name, namespace=namespace)
        except NotFoundError:
            return None


@pytest.mark.parametrize(("first", "second"), [("winkube", "upstream"), ("upstream", "winkube")])
async def test_a_manager_of_the_other_make_waits_for_the_lease(
    tmp_path: Path, first: Make, second: Make
) -> None:
    with api_server("winkube", tmp_path) as plane, ExitStack() as late:
        async with ApiClient(plane.client) as client:
            witness = Witness(client)
            with controllers(first, plane, ELECT):
                old = await witness.new_leader("")
                await witness.work_is_done("one")
                late.enter_context(controllers(second, plane, ELECT))
                for _ in range(3):
                    await witness.renewal()
                assert (await witness.lease())["holderIdentity"] == old
            new = await witness.new_leader(old)
            assert (await witness.lease())["leaseTransitions"] == 1
            await witness.work_is_done("two")
            expected = {(LEASE, f"{who} became leader") for who in (old, new)}

            async def is_said() -> bool:
                return await witness.said() == expected

            await until(is_said)
