from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from winkube.api.selector.labels import LabelSelector, from_label_selector
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.client.resource import PODDISRUPTIONBUDGETS
from winkube.controllers import selecting
from winkube.controllers.selecting import STEP, Selecting
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually, running


class Counting(LabelSelector):
    asked = 0

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        Counting.asked += 1
        return super().matches(labels)


def budget(name: str, selector: JsonObject, namespace: str = "default") -> JsonObject:
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": name},
        "spec": {"selector": selector},
    }


def app(value: str) -> JsonObject:
    return {"matchLabels": {"app": value}}


class Stage:
    def __init__(self, api: FakeApi) -> None:
        self.told: list[tuple[Sequence[str], JsonObject | None]] = []
        self.informer = Informer(api, PODDISRUPTIONBUDGETS)
        self.selecting = Selecting(
            self.informer, lambda keys, obj: self.told.append((keys, obj)), self.read
        )

    def read(self, obj: JsonObject) -> LabelSelector:
        return Counting(from_label_selector(obj["spec"]["selector"]).requirements)

    def selected(self) -> list[str]:
        return sorted(key for keys, _ in self.told for key in keys)


@asynccontextmanager
async def stage(*budgets: JsonObject) -> AsyncIterator[tuple[FakeApi, Stage]]:
    api = FakeApi()
    for each in budgets:
        api.seed(PODDISRUPTIONBUDGETS, each)
    found = Stage(api)
    async with running(found.informer.run()):
        await found.informer.synced.wait()
        Counting.asked = 0
        yield api, found


async def test_only_who_could_select_is_asked() -> None:
    many = [budget(f"b-{number}", app(f"app-{number}")) for number in range(1000)]
    async with stage(*many) as (_, subject):
        subject.selecting.changed("default", {"app": "app-7", "tier": "web"})
    assert subject.selected() == ["default/b-7"]
    assert Counting.asked == 1


async def test_every_form_of_selector_is_found() -> None:
    forms: dict[str, JsonObject] = {
        "in": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]},
        "long": {
            "matchExpressions": [
                {"key": "app", "operator": "In", "values": [*map(str, range(99)), "x"]}
            ]
        },
        "exists": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        "not": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["z"]}]},
        "all": {},
        "other": app("z"),
    }
    async with stage(*(budget(name, selector) for name, selector in forms.items())) as (_, subject):
        subject.selecting.changed("default", {"app": "x"})
        subject.selecting.changed("elsewhere", {"app": "x"})
    names = [key.partition("/")[2] for key in subject.selected()]
    assert names == ["all", "exists", "in", "long", "not"]


async def test_a_selector_that_changes_or_goes_is_forgotten() -> None:
    async with stage(budget("b", app("x")), budget("c", app("x"))) as (api, subject):
        await api.patch(PODDISRUPTIONBUDGETS, "b", {"spec": {"selector": app("y")}})
        await api.delete(PODDISRUPTIONBUDGETS, "c")

        def told() -> list[str]:
            subject.told.clear()
            for value in ("x", "y"):
                subject.selecting.changed("default", {"app": value})
            return subject.selected()

        await eventually(lambda: told() == ["default/b"])
        assert subject.told == [(["default/b"], None)]


async def test_many_that_match_are_compared_in_steps_and_alike_changes_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selecting, "PAUSE_SECONDS", 1.0)
    budgets = [budget(f"b-{number}", app("x")) for number in range(STEP)]
    async with stage(*budgets) as (_, subject):
        for number in range(300):
            subject.selecting.changed("default", {"app": "x"}, {"number": number})
        # The first was compared at once; of the others one speaks for all.
        assert Counting.asked == STEP
        await eventually(lambda: len(subject.told) == 2)
        assert [obj for _, obj in subject.told] == [{"number": 0}, {"number": 299}]
        assert Counting.asked == 2 * STEP
