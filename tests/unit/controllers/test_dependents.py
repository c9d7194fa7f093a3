from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.controllers.stage import controlling, make_context

from winkube.api.errors import ConflictError
from winkube.api.selector.labels import LabelSelector
from winkube.base.types import JsonObject
from winkube.client.resource import PODS, REPLICASETS
from winkube.controllers.adoption import Predicate, plan_claims
from winkube.controllers.controller import Context, Controller
from winkube.controllers.dependents import Dependents, selects
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually, running


def owner(name: str = "rs", **metadata: Any) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default", "uid": name, **metadata},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
    }


def pod(name: str, *, app: str = "x", of: str = "", kind: str = "ReplicaSet") -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": "default", "labels": {"app": app}}
    metadata["uid"] = name
    if of:
        metadata["ownerReferences"] = [{"kind": kind, "name": of, "uid": of, "controller": True}]
    return {"metadata": metadata, "spec": {}, "status": {}}


class Keeper(Controller):
    """Notes what is queued and seen; claims nothing by itself."""

    name = "keeper"

    def __init__(self, context: Context, wants: Any = selects) -> None:
        super().__init__(context)
        self.sets = self.informer(REPLICASETS)
        self.pods = Dependents(self, PODS, self.sets, "ReplicaSet", wants)
        self.seen: list[tuple[str, bool, bool]] = []
        self.done: list[str] = []

    def observe(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        self.seen.append((key, old is not None, new is not None))

    async def reconcile(self, key: str) -> None:
        self.done.append(key)


def keeper(api: FakeApi, wants: Any = selects) -> Keeper:
    return Keeper(make_context(api), wants)


def test_claims_adopt_release_and_leave_alone() -> None:
    mine, strayed = pod("mine", of="rs"), pod("strayed", app="y", of="rs")
    theirs, free, foreign = pod("theirs", of="other"), pod("free"), pod("foreign", app="z")
    claims = plan_claims(owner(), selects(owner()), [mine, strayed, theirs, free, foreign])
    assert claims.owned == (mine,)
    assert claims.release == (strayed,)
    assert claims.adopt == (free,)


def test_an_owner_that_ends_keeps_what_it_has_and_adopts_nothing() -> None:
    ending = owner(deletionTimestamp="2020-01-01T00:00:00Z")
    strayed = pod("strayed", app="y", of="rs")
    claims = plan_claims(ending, selects(ending), [strayed, pod("free")])
    assert (claims.owned, claims.release, claims.adopt) == ((strayed,), (), ())


async def test_controllers_and_possible_adopters_learn_of_a_change() -> None:
    api = FakeApi()
    for name in ("rs", "twin"):
        api.seed(REPLICASETS, owner(name))
    api.seed(PODS, pod("owned", of="rs"))
    api.seed(PODS, pod("of-another-kind", of="rs", kind="Job"))
    subject = keeper(api)
    subject.pods.follow(subject.observe)
    async with controlling(subject):
        await eventually(lambda: subject.done == ["default/rs"])
        assert subject.seen == [("default/rs", False, True)]
        api.seed(PODS, pod("free"))
        await eventually(lambda: sorted(subject.done[1:]) == ["default/rs", "default/twin"])
        await api.delete(PODS, "owned", options={"gracePeriodSeconds": 0})
        await eventually(lambda: subject.seen[-1] == ("default/rs", True, False))


async def test_changes_in_a_swarm_are_one_piece_of_work() -> None:
    api = FakeApi()
    api.seed(REPLICASETS, owner())
    for number in range(20):
        api.seed(PODS, pod(f"p{number}", of="rs"))
    subject = keeper(api)
    subject.pods.follow(subject.observe, gather_seconds=0.01)
    async with controlling(subject):
        await eventually(lambda: len(subject.seen) == 20 and bool(subject.done))
    assert subject.done == ["default/rs"]


async def test_what_an_owner_wants_may_be_more_than_labels() -> None:
    def wants(replica_set: JsonObject) -> Predicate:
        return lambda obj: obj["metadata"]["name"].startswith("good")

    api = FakeApi()
    api.seed(REPLICASETS, owner())
    for each in (pod("good-mine", of="rs"), pod("bad-mine", of="rs"), pod("good"), pod("bad")):
        api.seed(PODS, each)
    subject = keeper(api, wants)
    async with running(subject.context.informers.run()):
        await subject.context.informers.synced()
        claimed = await subject.pods.claim(owner())
    assert sorted(each["metadata"]["name"] for each in claimed) == ["good", "good-mine"]
    released = api.find(PODS, "default/bad-mine") or {}
    assert not released["metadata"].get("ownerReferences")


async def test_what_an_owner_leaves_behind_is_not_taken_back() -> None:
    """Its cache may not show yet that it ends, while that of the pods shows them free."""
    api = FakeApi()
    before = api.seed(REPLICASETS, owner(finalizers=["orphan"]))
    await api.delete(REPLICASETS, "rs", namespace="default")
    api.seed(PODS, pod("free"))
    mine = keeper(api)
    async with controlling(mine):
        with pytest.raises(ConflictError):
            await mine.pods.claim(before)
        assert "ownerReferences" not in api.all(PODS)[0]["metadata"]
        await api.patch(REPLICASETS, "rs", {"metadata": {"finalizers": None}}, namespace="default")
        with pytest.raises(ConflictError):
            await mine.pods.claim(before)
        assert "ownerReferences" not in api.all(PODS)[0]["metadata"]


async def test_an_orphan_is_compared_with_owners_that_could_want_it_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: set[str] = set()
    matches = LabelSelector.matches

    def counting(self: LabelSelector, labels: Mapping[str, str] | None) -> bool:
        asked.update(value for each in self.requirements for value in each.values)
        return matches(self, labels)

    api = FakeApi()
    for number in range(200):
        other = owner(f"rs-{number}")
        other["spec"]["selector"]["matchLabels"]["app"] = f"app-{number}"
        api.seed(REPLICASETS, other)
    subject = keeper(api)
    subject.pods.follow(subject.observe)
    async with controlling(subject):
        monkeypatch.setattr(LabelSelector, "matches", counting)
        await api.create(PODS, pod("free", app="app-7"))
        await eventually(lambda: subject.done == ["default/rs-7"])
        found = subject.sets.get("default/rs-8")
        assert found is not None
        assert await subject.pods.claim(found) == ()
        assert asked == {"app-7"}
