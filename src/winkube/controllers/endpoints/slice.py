"""The EndpointSlice controller: services with a selector get slices of the pods they select."""

import asyncio
from collections.abc import Sequence

from winkube.api.errors import AlreadyExistsError, ApiError
from winkube.api.meta import is_deleting, key_of, labels_of, namespace_of
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import ENDPOINTSLICES, NODES, PODS, SERVICES
from winkube.controllers.controller import Context, Controller
from winkube.controllers.endpoints.backend import (
    backends,
    families,
    fingerprint,
    is_managed,
    selected_pods,
)
from winkube.controllers.endpoints.slice_plan import (
    MANAGED_BY,
    MANAGER,
    SERVICE_NAME,
    SlicePlan,
    plan_slices,
)
from winkube.controllers.endpoints.trigger import TriggerTimes, stamp
from winkube.controllers.expectations import Expectations
from winkube.controllers.indexes import add_label_index, add_owner_indexes
from winkube.controllers.pod_control import is_ending_namespace

ZONE = "topology.kubernetes.io/zone"
SERVICE = "service"
SELECTING = "namespace of a service that selects pods"
FEW_SERVICES = 32
# How long changes of pods are gathered for each service there is: 20 ms for 500.
SERVICE_SECONDS = 0.00004
MANY_LABELS = 16

Labels = frozenset[tuple[str, str]]


def _where_it_selects(service: JsonObject) -> tuple[str, ...]:
    return (namespace_of(service),) if (service.get("spec") or {}).get("selector") else ()


class ServiceFollower(Controller):
    """Queue the services a pod's change concerns; shared by slices and legacy Endpoints.

    A pod's change is noted by whoever reads the pods, for all controllers of the process. Where
    there are many services, the changes of a moment are compared with them together.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.services = self.follow(SERVICES)
        self.services.add_index(SELECTING, _where_it_selects)
        self.pods = self.informer(PODS)
        add_owner_indexes(self.pods)
        add_label_index(self.pods)
        self.pods.on_change(self._pod_changed)
        self.triggers = TriggerTimes()
        # Labels of pods that changed where there are many services, by namespace.
        self._changed: dict[str, set[Labels]] = {}

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        namespace = key.partition("/")[0]
        services = self.services.count(SELECTING, namespace)
        if not services or fingerprint(old) == fingerprint(new):
            return
        labels = {frozenset(labels_of(pod).items()) for pod in (old, new) if pod is not None}
        if services <= FEW_SERVICES:
            self._queue_selecting(namespace, labels)
        elif namespace in self._changed:
            self._changed[namespace] |= labels
        else:
            self._changed[namespace] = labels
            loop = asyncio.get_running_loop()
            loop.call_later(services * SERVICE_SECONDS, self._catch_up, namespace)

    def _catch_up(self, namespace: str) -> None:
        self._queue_selecting(namespace, self._changed.pop(namespace))

    def _queue_selecting(self, namespace: str, labels: set[Labels]) -> None:
        for service in self.services.by_index(SELECTING, namespace):
            # To look at a service in vain is cheaper than to ask for all of many labels.
            if len(labels) <= MANY_LABELS:
                wanted = service["spec"]["selector"].items()
                if not any(wanted <= given for given in labels):
                    continue
            self.queue.add(key_of(service))


class EndpointSliceController(ServiceFollower):
    name = "endpointslice-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        # The zone of each node: every service asks for all of them.
        self._zones: dict[str, str] = {}
        self.informer(NODES).on_change(self._node_changed)
        self._slices = self.informer(ENDPOINTSLICES)
        self._slices.add_index(SERVICE, _service_of)
        self._slices.on_change(self._slice_changed)
        self._expected = Expectations(context.clock)

    def _slice_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        services = {service for each in (old, new) if each for service in _service_of(each)}
        for service in services:
            self._expected.observe(service, old, new)
            self.queue.add(service)

    async def reconcile(self, key: str) -> None:
        service = self.services.get(key)
        existing = self._slices.by_index(SERVICE, key)
        if service is None:
            self.triggers.forget(key)
            self._expected.forget(key)
        if service is None or is_deleting(service) or not is_managed(service):
            # What a service without selector has by now stays: it is its owner's from here on.
            return
        if not self._expected.satisfied(key):
            # A slice we made is on its way into the cache and will call again: who plans without it
            # makes a second one.
            self.queue.add_after(key, self._expected.left(key))
            return
        pods = selected_pods(self.pods, service)
        when = self.triggers.look(service, pods)
        wanted = families(service)
        stale = tuple(each for each in existing if each["addressType"] not in wanted)
        await self._apply(key, SlicePlan(delete=stale), when)
        for family in wanted:
            of_family = [each for each in existing if each["addressType"] == family]
            found = backends(service, pods, family)
            await self._apply(
                key, plan_slices(service, family, found, of_family, self._zones), when
            )

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            self._zones.pop(key, None)
        else:
            self._zones[key] = labels_of(new).get(ZONE, "")

    async def _apply(self, key: str, plan: SlicePlan, when: str) -> None:
        for slice_ in plan.create:
            await self._create(key, stamp(slice_, when))
        for slice_ in plan.update:
            await self.client.update(ENDPOINTSLICES, stamp(slice_, when))
        for slice_ in plan.delete:
            await self.remove(ENDPOINTSLICES, slice_)

    async def _create(self, key: str, slice_: JsonObject) -> None:
        self._expected.expect_creations(key, 1)
        try:
            await self.client.create(ENDPOINTSLICES, slice_)
        except (ApiError, TransportError) as error:
            self._expected.created(key)
            if not isinstance(error, AlreadyExistsError) and not is_ending_namespace(error):
                raise


def _service_of(slice_: JsonObject) -> Sequence[str]:
    labels = labels_of(slice_)
    if labels.get(MANAGED_BY) != MANAGER or not labels.get(SERVICE_NAME):
        return ()
    return (f"{namespace_of(slice_)}/{labels[SERVICE_NAME]}",)
