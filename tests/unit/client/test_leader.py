import asyncio
import functools
from collections import Counter

from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.leader import LeaderConfig, LeaderElector
from winkube.client.resource import EVENTS, LEASES, Resource
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_clock import FakeClock
from winkube.testing.tasks import eventually, running


def candidate(api: FakeApi, who: str, clock: FakeClock) -> LeaderElector:
    config = LeaderConfig("kcm", who, component="kcm", retry_seconds=0.001)
    return LeaderElector(api, config, clock=clock)


async def lead() -> None:
    await asyncio.Event().wait()


async def lead_until(stopped: asyncio.Event) -> None:
    try:
        await lead()
    finally:
        stopped.set()


async def test_one_candidate_leads_and_the_other_takes_over_when_it_is_gone() -> None:
    api, clock = FakeApi(), FakeClock()
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    async with running(two.run(lead)):
        async with running(one.run(lead)):
            await eventually(lambda: one.leading or two.leading)
            assert one.leading != two.leading
            first, second = (one, two) if one.leading else (two, one)
            if first is two:
                return
        assert not one.leading
        await asyncio.sleep(0.01)
        assert not second.leading
        clock.advance(16)
        await eventually(lambda: second.leading)
    lease = api.find(LEASES, "kube-system/kcm")
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == "two"
    assert lease["spec"]["leaseTransitions"] == 1


async def test_leader_that_cannot_renew_stops_its_work() -> None:
    api, clock = FakeApi(), FakeClock()
    leader = candidate(api, "one", clock)
    stopped = asyncio.Event()
    async with running(leader.run(functools.partial(lead_until, stopped))):
        await eventually(lambda: leader.leading)
        body = {"spec": {"holderIdentity": "thief"}}
        await api.patch(LEASES, "kcm", body, namespace="kube-system")
        clock.advance(11)
        await asyncio.wait_for(stopped.wait(), 2)
        assert not leader.leading


class Stuck(FakeApi):
    """Its second renewal fails almost too late, and no later one is ever answered."""

    def __init__(self, late: FakeClock) -> None:
        super().__init__()
        self._late, self._updates = late, 0

    async def update(
        self, resource: Resource, obj: JsonObject, *, subresource: str | None = None
    ) -> JsonObject:
        self._updates += 1
        if self._updates == 2:
            self._late.advance(9.9)
            raise TransportError("server", "late")
        if self._updates > 2:
            try:
                await asyncio.Event().wait()
            finally:
                self._late.advance(0.1)
        return await super().update(resource, obj, subresource=subresource)


async def test_a_request_that_hangs_does_not_outlive_the_lease() -> None:
    clock = FakeClock()
    leader = candidate(Stuck(clock), "one", clock)
    stopped = asyncio.Event()
    async with running(leader.run(functools.partial(lead_until, stopped))):
        # Far less than the ten seconds that a request may take while there is time.
        await asyncio.wait_for(stopped.wait(), 5)


async def test_released_lease_is_free_at_once() -> None:
    api, clock = FakeApi(), FakeClock()
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    async with running(one.run(lead)):
        await eventually(lambda: one.leading)
    await one.release()
    async with running(two.run(lead)):
        await eventually(lambda: two.leading)


class Counting(FakeApi):
    """How often each verb was called."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        self.asked["get"] += resource is LEASES
        return await super().get(resource, name, namespace=namespace, subresource=subresource)

    async def update(
        self, resource: Resource, obj: JsonObject, *, subresource: str | None = None
    ) -> JsonObject:
        self.asked["update"] += resource is LEASES
        return await super().update(resource, obj, subresource=subresource)


async def test_a_leader_renews_without_asking_and_survives_the_loss_of_its_lease() -> None:
    api, clock = Counting(), FakeClock()
    leader = candidate(api, "one", clock)
    stopped = asyncio.Event()
    async with running(leader.run(functools.partial(lead_until, stopped))):
        await eventually(lambda: api.asked["update"] >= 5)
        assert api.asked["get"] == 1
        await api.delete(LEASES, "kcm", namespace="kube-system")
        await eventually(lambda: api.find(LEASES, "kube-system/kcm") is not None)
        assert not stopped.is_set()


async def test_a_new_leader_says_so() -> None:
    api = FakeApi()
    async with running(candidate(api, "one", FakeClock()).run(lead)):
        await eventually(lambda: api.all(EVENTS))
    [event] = api.all(EVENTS)
    assert (event["reason"], event["message"]) == ("LeaderElection", "one became leader")
    assert event["involvedObject"]["kind"] == "Lease"
    assert event["metadata"]["namespace"] == "kube-system"
