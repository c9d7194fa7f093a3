import random
from typing import Any

import pytest
from tests.unit.controllers.stage import controlling, make_context

from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.discovery import ServedResource, survey
from winkube.client.resource import CONFIGMAPS, NAMESPACES, SECRETS, Resource
from winkube.controllers.controller import Controller
from winkube.controllers.namespace import NamespaceController
from winkube.controllers.namespace_census import PAGE, Registrar
from winkube.controllers.namespace_contents import NamespaceContentsController
from winkube.controllers.namespace_flow import stem_of
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_clock import FakeClock
from winkube.testing.tasks import eventually, running


@pytest.mark.parametrize("pattern", ["flood-{:04}", "run-{:08x}", "job{}", "e2e-{}-b2x4z"])
async def test_a_namespace_waits_for_one_turn_of_a_flood_of_others(pattern: str) -> None:
    subject = NamespaceController(make_context(FakeApi()))
    for number in range(2_000):
        subject.queue.add(pattern.format(number))
    subject.queue.add("shop")
    taken: list[str] = []
    while "shop" not in taken:
        async with subject.queue.take() as key:
            taken.append(key)
    assert len(taken) <= 20, f"{len(taken)} turns"


@pytest.mark.parametrize(
    ("kind", "moment"),
    [
        (NamespaceController, "deletionTimestamp"),
        (NamespaceContentsController, "creationTimestamp"),
    ],
)
async def test_namespaces_of_unlike_names_wait_with_those_of_the_same_moment(
    kind: type[Controller], moment: str
) -> None:
    api, words = FakeApi(), random.Random(1)
    names = {"".join(words.choices("ghijklmnop", k=12)) for _ in range(600)}
    for number, name in enumerate([*sorted(names), "shop"]):
        when = to_rfc3339(1_600_000_000.0 + number // 100)
        metadata = {"name": name, moment: when, "finalizers": ["example.com/keep"]}
        api.seed(NAMESPACES, {"metadata": metadata, "spec": {"finalizers": ["kubernetes"]}})
    context = make_context(api)
    subject = kind(context)
    taken: list[str] = []
    async with running(context.informers.run()):
        await context.informers.synced()
        while "shop" not in taken:
            async with subject.queue.take() as key:
                taken.append(key)
    # The first of a moment comes before it has company.
    assert len(taken) <= 14, f"{len(taken)} turns"


async def test_a_namespace_deleted_with_many_that_came_together_waits_for_one_turn_of_theirs() -> (
    None
):
    api, words = FakeApi(), random.Random(1)
    names = {"".join(words.choices("ghijklmnop", k=12)) for _ in range(600)}
    for number, name in enumerate(["shop", *sorted(names)]):
        metadata = {
            "name": name,
            "creationTimestamp": to_rfc3339(1_500_000_000.0 + (number + 299) // 300),
            "deletionTimestamp": to_rfc3339(1_600_000_000.0),
            "finalizers": ["example.com/keep"],
        }
        api.seed(NAMESPACES, {"metadata": metadata, "spec": {"finalizers": ["kubernetes"]}})
    context = make_context(api)
    subject = NamespaceController(context)
    taken: list[str] = []
    async with running(context.informers.run()):
        await context.informers.synced()
        while "shop" not in taken:
            async with subject.queue.take() as key:
                taken.append(key)
    assert len(taken) <= 8, f"{len(taken)} turns"


class CountingApi(FakeApi):
    """Every list takes a moment."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.lists = 0
        self.time = clock

    async def list(self, resource: Resource, **options: Any) -> JsonObject:
        self.lists += 1
        self.time.advance(0.001)
        return await super().list(resource, **options)


def deleted_namespace(name: str) -> JsonObject:
    metadata = {"name": name, "deletionTimestamp": to_rfc3339(1_600_000_000.0)}
    return {"metadata": metadata, "spec": {"finalizers": ["kubernetes"]}}


async def test_many_namespaces_are_emptied_without_asking_each_for_every_kind() -> None:
    clock = FakeClock()
    api = CountingApi(clock)
    count = 400
    kinds = sum(each.resource.namespaced for each in (await survey(api)).resources)
    for number in range(count):
        api.seed(NAMESPACES, deleted_namespace(f"n-{number}"))
        for name in ("one", "two"):
            api.seed(SECRETS, {"metadata": {"name": name, "namespace": f"n-{number}"}})
    api.seed(CONFIGMAPS, {"metadata": {"name": "kept", "namespace": "shop"}})
    api.seed(CONFIGMAPS, {"metadata": {"name": "lost", "namespace": "n-7"}})
    async with controlling(NamespaceController(make_context(api, clock))):
        await eventually(lambda: not api.all(NAMESPACES))
    assert not api.all(SECRETS)
    assert [each["metadata"]["name"] for each in api.all(CONFIGMAPS)] == ["kept"]
    assert kinds > 10
    assert api.lists < count * kinds / 3, f"{api.lists} lists"


async def test_a_census_says_nothing_about_namespaces_that_were_deleted_later() -> None:
    clock = FakeClock()
    api = CountingApi(clock)
    entries = [ServedResource(CONFIGMAPS, "ConfigMap", frozenset({"list", "delete"}))]
    registrar = Registrar(api, clock)
    clock.advance(1.0)
    first = await registrar.census(entries, clock.monotonic() - 0.5)
    assert first.lacks(CONFIGMAPS, "shop")
    api.seed(CONFIGMAPS, {"metadata": {"name": "late", "namespace": "shop"}})
    assert await registrar.census(entries, clock.monotonic() - 0.5) is first
    assert not (await registrar.census(entries, clock.monotonic())).lacks(CONFIGMAPS, "shop")


async def test_a_census_knows_nothing_of_kinds_that_it_did_not_count_to_the_end() -> None:
    clock = FakeClock()
    api = CountingApi(clock)
    for number in range(PAGE + 1):
        api.seed(CONFIGMAPS, {"metadata": {"name": f"map-{number}", "namespace": "other"}})
    entries = [ServedResource(CONFIGMAPS, "ConfigMap", frozenset({"list", "delete"}))]
    census = await Registrar(api, clock).census(entries, clock.monotonic())
    assert not census.lacks(CONFIGMAPS, "shop")


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("shop", "shop"),
        ("shop-green", "shop-green"),
        ("shop-7", "shop"),
        ("shop-1f9c-22", "shop"),
        ("shop-x7k2p", "shop"),
        ("12345", "12345"),
        ("kube-system", "kube-system"),
        ("decade", "decade"),
    ],
)
def test_the_stem_of_a_name(name: str, stem: str) -> None:
    assert stem_of(name) == stem
