import pytest
from tests.unit.controllers.stage import make_context

from winkube.controllers.namespace import NamespaceController, stem_of
from winkube.testing.fake_api import FakeApi


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
