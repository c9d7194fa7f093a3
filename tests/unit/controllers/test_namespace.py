import random

import pytest
from tests.unit.controllers.stage import make_context

from winkube.base.clock import to_rfc3339
from winkube.client.resource import NAMESPACES
from winkube.controllers.controller import Controller
from winkube.controllers.namespace import NamespaceController
from winkube.controllers.namespace_contents import NamespaceContentsController
from winkube.controllers.namespace_flow import stem_of
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import running


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
    assert len(taken) <= 7, f"{len(taken)} turns"


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
