"""Controllers on a fake API server, started as their manager starts them, and kubelets for them."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

from winkube.base.clock import Clock, SystemClock
from winkube.client.events import EventRecorder
from winkube.client.informer import InformerPool
from winkube.client.resource import PODS
from winkube.controllers.config import ControllerConfig
from winkube.controllers.controller import Context, Controller
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import running

_READY: Final = {
    "type": "Ready",
    "status": "True",
    "lastTransitionTime": "2020-01-01T00:00:00Z",
}


def make_context(
    api: FakeApi, clock: Clock | None = None, config: ControllerConfig | None = None
) -> Context:
    clock = clock or SystemClock()
    recorder = EventRecorder(api, "controllermanager", clock=clock)
    return Context(api, InformerPool(api), recorder, config or ControllerConfig(), clock)


@asynccontextmanager
async def controlling(
    *controllers: Controller, beside: tuple[Coroutine[Any, Any, None], ...] = ()
) -> AsyncIterator[None]:
    """Run controllers that share a context once their caches are filled."""
    context = controllers[0].context
    async with running(context.informers.run(), context.recorder.run(), *beside):
        await context.informers.synced()
        async with running(*(each.run() for each in controllers)):
            yield


async def play_kubelet(api: FakeApi, *, linger: asyncio.Event | None = None) -> None:
    """Place and start every pod, and end those that are deleted once ``linger`` is set."""
    while True:
        for pod in api.all(PODS):
            name = pod["metadata"]["name"]
            if not pod["spec"].get("nodeName"):
                body = {"target": {"name": "n"}, "metadata": {"namespace": "default"}}
                await api.create(PODS, body, namespace="default", name=name, subresource="binding")
            elif pod["metadata"].get("deletionTimestamp"):
                if linger is None or linger.is_set():
                    await api.delete(PODS, name, options={"gracePeriodSeconds": 0})
            elif pod["status"].get("phase") == "Pending":
                status = {"phase": "Running", "podIP": "10.244.0.9", "conditions": [_READY]}
                await api.patch(PODS, name, {"status": status}, subresource="status")
        await asyncio.sleep(0.001)
