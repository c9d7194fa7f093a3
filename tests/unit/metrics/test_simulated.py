"""Figures that a pod's annotations say."""

import pytest

from winkube.base.types import JsonObject
from winkube.metrics.simulated import said_figures


def pod(**said: str) -> JsonObject:
    notes = {
        f"simulation.winkube.dev/{name.replace('_', '.')}": text for name, text in said.items()
    }
    return {"metadata": {"name": "a", "annotations": notes}}


def test_every_container_that_is_named_has_its_figure() -> None:
    found = said_figures(pod(usage_app="cpu=250m,memory=64Mi", usage_log="cpu=1"), 100.0)
    assert found is not None
    assert {name: (each.cpu, each.memory) for name, each in found.items()} == {
        "app": (250_000_000, 64 << 20),
        "log": (1_000_000_000, 0),
    }
    assert found["app"].at == 100 * 10**9


def test_a_pod_that_says_nothing_has_none() -> None:
    assert said_figures(pod(exit="after=1"), 0.0) is None
    assert said_figures({"metadata": {"name": "a"}}, 0.0) is None


@pytest.mark.parametrize("text", ["", "cpu", "cpu=much,memory=-1", "=,=,"])
def test_nonsense_is_no_load(text: str) -> None:
    found = said_figures(pod(usage_app=text), 0.0)
    assert found is not None
    assert (found["app"].cpu, found["app"].memory) == (0, 0)
