from typing import Any

import pytest
from tests.unit.controllers.stage import controlling, make_context

from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import PODDISRUPTIONBUDGETS, PODS, REPLICASETS
from winkube.controllers.disruption import (
    DisruptionController,
    Scale,
    ScaleError,
    plan_disruptions,
    plan_failure,
    plan_scale,
    plan_status,
)
from winkube.controllers.stale_disruption import StaleDisruptionController, stale_in
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually

NOW = 1_600_000_000.0
LABELS = {"app": "x"}


def budget(**spec: Any) -> JsonObject:
    metadata = {"name": "b", "namespace": "default", "generation": 1}
    return {"metadata": metadata, "spec": {"selector": {"matchLabels": LABELS}, **spec}}


def pod(name: str, *, ready: bool = True, owner: str | None = "rs") -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": "default", "uid": name, "labels": LABELS}
    if owner is not None:
        reference = {"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
        metadata["ownerReferences"] = [reference]
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {
        "metadata": metadata,
        "spec": {},
        "status": {"phase": "Running", "conditions": [condition]},
    }


def scale_of(owner: JsonObject, namespace: str) -> tuple[str, int] | None:
    return ("rs", 7) if owner["name"] == "rs" else None


@pytest.mark.parametrize(
    ("spec", "expected", "desired"),
    [
        ({"minAvailable": 2}, 3, 2),
        ({"minAvailable": "50%"}, 7, 4),
        ({"maxUnavailable": 1}, 7, 6),
        ({"maxUnavailable": "30%"}, 7, 4),
        ({"maxUnavailable": 10}, 7, 0),
        ({}, 0, 0),
    ],
)
def test_scale_comes_from_the_controllers(spec: JsonObject, expected: int, desired: int) -> None:
    pods = [pod("a"), pod("b"), pod("c")]
    assert plan_scale(budget(**spec), pods, scale_of) == Scale(expected, desired)


def test_pods_without_a_controller_are_named_and_unknown_controllers_refused() -> None:
    found = plan_scale(budget(maxUnavailable=1), [pod("a", owner=None)], scale_of)
    assert found.unmanaged == ("a",)
    with pytest.raises(ScaleError, match='found no controllers for pod "a"'):
        plan_scale(budget(maxUnavailable=1), [pod("a", owner="other")], scale_of)


def test_status_counts_healthy_pods_and_says_whether_one_may_go() -> None:
    pods = [pod("a"), pod("b"), pod("c", ready=False), pod("d")]
    status = plan_status(budget(), pods, Scale(4, 1), {"d": "now"}, NOW)
    assert status == {
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 4,
        "disruptionsAllowed": 1,
        "observedGeneration": 1,
        "disruptedPods": {"d": "now"},
        "conditions": [
            {
                "type": "DisruptionAllowed",
                "status": "True",
                "reason": "SufficientPods",
                "message": "",
                "lastTransitionTime": to_rfc3339(NOW),
                "observedGeneration": 1,
            }
        ],
    }
    assert plan_status(budget(), [], Scale(0, 0), {}, NOW)["disruptionsAllowed"] == 0


def test_noted_pods_are_believed_for_two_minutes() -> None:
    noted = {"a": to_rfc3339(NOW - 20), "b": to_rfc3339(NOW - 200), "gone": to_rfc3339(NOW)}
    subject = {**budget(), "status": {"disruptedPods": noted}}
    late = pod("b")
    found = plan_disruptions(subject, [pod("a"), late], NOW)
    assert list(found.pending) == ["a"]
    assert found.overdue == (late,)
    assert found.again == 100.0


def test_pod_that_came_after_the_note_of_its_name_is_not_the_one_that_goes() -> None:
    subject = {**budget(), "status": {"disruptedPods": {"a": to_rfc3339(NOW - 20)}}}
    old, new = pod("a"), pod("a")
    old["metadata"]["creationTimestamp"] = to_rfc3339(NOW - 20)
    new["metadata"]["creationTimestamp"] = to_rfc3339(NOW - 19)
    assert list(plan_disruptions(subject, [old], NOW).pending) == ["a"]
    assert not plan_disruptions(subject, [new], NOW).pending


def test_failure_allows_nothing() -> None:
    status = plan_failure({**budget(), "status": {"disruptionsAllowed": 2}}, "why", NOW)
    assert status["disruptionsAllowed"] == 0
    condition = status["conditions"][0]
    assert (condition["reason"], condition["message"]) == ("SyncFailed", "why")


async def test_budget_follows_pods_and_the_size_of_their_controller() -> None:
    api = FakeApi()
    template = {"metadata": {"labels": LABELS}}
    metadata = {"name": "rs", "uid": "rs"}
    api.seed(REPLICASETS, {"metadata": metadata, "spec": {"replicas": 2, "template": template}})
    for name in ("a", "b"):
        api.seed(PODS, pod(name))
    api.seed(PODDISRUPTIONBUDGETS, budget(maxUnavailable="50%"))

    def allowed() -> tuple[Any, Any] | None:
        status = (api.find(PODDISRUPTIONBUDGETS, "default/b") or {}).get("status") or {}
        return (status.get("expectedPods"), status.get("disruptionsAllowed")) if status else None

    context = make_context(api)
    subject = DisruptionController(context)
    async with controlling(subject):
        await eventually(lambda: allowed() == (2, 1))
        await api.patch(REPLICASETS, "rs", {"spec": {"replicas": 4}})
        await eventually(lambda: allowed() == (4, 0))


async def test_owners_without_a_size_are_named() -> None:
    api = FakeApi()
    owned = pod("p")
    reference = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d"}
    owned["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    api.seed(PODS, owned)
    api.seed(PODDISRUPTIONBUDGETS, budget(maxUnavailable=1))

    def said() -> list[str]:
        (one,) = api.all(PODDISRUPTIONBUDGETS)
        listed = (one.get("status") or {}).get("conditions") or ()
        return [f"{each['reason']}: {each['message']}" for each in listed]

    words = "daemonsets.apps does not implement the scale subresource"
    async with controlling(DisruptionController(make_context(api))):
        await eventually(lambda: said() == [f"SyncFailed: {words}"])


def marked(**facts: Any) -> JsonObject:
    found = pod("p")
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    condition |= {"lastTransitionTime": to_rfc3339(NOW), **facts.get("condition", {})}
    found["status"]["conditions"].append(condition)
    found["status"]["phase"] = facts.get("phase", "Running")
    if facts.get("going"):
        found["metadata"]["deletionTimestamp"] = to_rfc3339(NOW)
    return found


@pytest.mark.parametrize(
    ("subject", "left"),
    [
        (pod("p"), None),
        (marked(), 90.0),
        (marked(condition={"lastTransitionTime": to_rfc3339(NOW - 300)}), 0.0),
        (marked(condition={"status": "False"}), None),
        (marked(condition={"reason": "TerminationByKubelet"}), None),
        (marked(phase="Failed"), None),
        (marked(going=True), None),
    ],
)
def test_a_disruption_that_does_not_come_is_believed_for_two_minutes(
    subject: JsonObject, left: float | None
) -> None:
    assert stale_in(subject, NOW + 30) == left


async def test_a_disruption_that_did_not_come_is_taken_back() -> None:
    api = FakeApi()
    api.seed(PODS, marked())

    def found() -> JsonObject:
        (one,) = api.all(PODS)
        return next(e for e in one["status"]["conditions"] if e["type"] == "DisruptionTarget")

    async with controlling(StaleDisruptionController(make_context(api))):
        await eventually(lambda: found()["status"] == "False")
    assert "reason" not in found()
