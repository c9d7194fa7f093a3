"""A namespace that is deleted is emptied before it goes."""

from typing import Any

from tests.unit.controllers.stage import make_context

from winkube.api.errors import NotFoundError
from winkube.client.resource import CONFIGMAPS, NAMESPACES, PODS, Resource
from winkube.controllers.namespace import FINALIZER, NamespaceController
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import running


class _Raced(FakeApi):
    """A server that says "not found" of a collection because one of it went meanwhile."""

    async def delete_collection(
        self, resource: Resource, *, namespace: str | None = None, **more: Any
    ) -> None:
        raise NotFoundError.of(resource.plural, "gone")


async def test_a_collection_that_is_not_found_is_not_taken_for_empty() -> None:
    api = _Raced()
    await api.create(NAMESPACES, {"metadata": {"name": "n"}, "spec": {"finalizers": [FINALIZER]}})
    held = {"metadata": {"name": "kept", "finalizers": ["example.com/hold"]}}
    await api.create(PODS, held, namespace="n")
    await api.create(CONFIGMAPS, {"metadata": {"name": "used"}}, namespace="n")
    await api.delete(NAMESPACES, "n")
    context = make_context(api)
    controller = NamespaceController(context)
    async with running(context.informers.run()):
        await context.informers.synced()
        await controller.reconcile("n")
        kept = await api.get(NAMESPACES, "n")
        assert kept["spec"]["finalizers"] == [FINALIZER]
        assert "deletionTimestamp" in (await api.get(PODS, "kept", namespace="n"))["metadata"]
        assert [each["metadata"]["name"] for each in api.all(CONFIGMAPS)] == ["used"]
