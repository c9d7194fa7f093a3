import asyncio

from tests.unit.controllers.stage import controlling, make_context

from winkube.base.types import JsonObject
from winkube.client.resource import RESOURCEQUOTAS
from winkube.controllers.quota import ResourceQuotaController
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually


class SlowDiscovery(FakeApi):
    """Answers discovery as a network does: others get a turn meanwhile."""

    async def get_path(self, path: str) -> JsonObject:
        await asyncio.sleep(0.001)
        return await super().get_path(path)


async def test_quotas_that_are_looked_at_together_are_all_counted() -> None:
    api = SlowDiscovery()
    for namespace in ("a", "b", "c"):
        metadata = {"name": "q", "namespace": namespace}
        api.seed(RESOURCEQUOTAS, {"metadata": metadata, "spec": {"hard": {"configmaps": "5"}}})
    async with controlling(ResourceQuotaController(make_context(api))):
        await eventually(
            lambda: (
                [quota.get("status", {}).get("used") for quota in api.all(RESOURCEQUOTAS)]
                == [{"configmaps": "0"}] * 3
            )
        )
