from typing import Any

import pytest
from tests.unit.controllers.stage import controlling, make_context

from winkube.api.errors import ConflictError, ForbiddenError, InternalError
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import EVENTS, PODS, REPLICASETS, REPLICATIONCONTROLLERS
from winkube.controllers.replicaset import (
    ReplicaSetController,
    ReplicationController,
    plan_replicas,
    plan_status,
)
from winkube.controllers.victim import DELETION_COST, deletion_cost, least_advanced_first
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_clock import FakeClock
from winkube.testing.tasks import eventually


def pod(name: str, **facts: Any) -> JsonObject:
    conditions = []
    if facts.get("ready_at"):
        since = facts["ready_at"]
        conditions.append({"type": "Ready", "status": "True", "lastTransitionTime": since})
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "labels": facts.get("labels", {"app": "x"}),
            "annotations": facts.get("annotations", {}),
            "creationTimestamp": facts.get("created", "2020-01-01T00:00:00Z"),
        },
        "spec": {"nodeName": facts.get("node", "n")},
        "status": {
            "phase": facts.get("phase", "Running"),
            "conditions": conditions,
            "containerStatuses": [{"restartCount": facts.get("restarts", 0)}],
        },
    }


def order(*pods: JsonObject, related: tuple[JsonObject, ...] = ()) -> list[str]:
    plan = plan_replicas(0, pods, related or pods, now=NOW)
    return [each["metadata"]["name"] for each in plan.delete]


OLD, NEW = "2020-01-01T00:00:00Z", "2020-06-01T00:00:00Z"
NOW = parse_rfc3339("2020-06-02T00:00:00Z")


def test_worst_pods_are_deleted_first() -> None:
    assert order(
        pod("ready", ready_at=OLD),
        pod("running"),
        pod("pending", phase="Pending"),
        pod("unplaced", node="", phase="Pending"),
    ) == ["unplaced", "pending", "running", "ready"]


def test_cheap_pods_go_before_dear_ones() -> None:
    key = "controller.kubernetes.io/pod-deletion-cost"
    dear = pod("dear", ready_at=NEW, annotations={key: "10"})
    cheap = pod("cheap", ready_at=OLD, annotations={key: "-5"})
    assert order(dear, cheap) == ["cheap", "dear"]


def test_crowded_nodes_are_thinned_first() -> None:
    pods = (pod("alone", node="a"), pod("p1", node="b"), pod("p2", node="b"))
    assert order(*pods)[-1] == "alone"


def test_recently_ready_restarted_and_young_pods_go_first() -> None:
    assert order(pod("a", ready_at=OLD), pod("b", ready_at=NEW)) == ["b", "a"]
    assert order(pod("a"), pod("b", restarts=3)) == ["b", "a"]
    assert order(pod("a", created=OLD), pod("b", created=NEW)) == ["b", "a"]


def test_pods_of_about_one_age_go_by_chance() -> None:
    """Not always the youngest: it may be the one on the new node."""
    days = [f"2020-01-0{day}T00:00:00Z" for day in (1, 2, 3)]
    first, second, third = days
    assert order(pod("a", ready_at=second), pod("b", ready_at=third)) == ["a", "b"]
    assert order(pod("b", ready_at=second), pod("a", ready_at=third)) == ["a", "b"]
    assert order(pod("a", created=first), pod("b", created=third)) == ["a", "b"]


def test_the_container_that_was_restarted_most_counts_then_sidecars() -> None:
    many, often = pod("many"), pod("often")
    many["status"]["containerStatuses"] = [{"restartCount": 2}, {"restartCount": 2}]
    often["status"]["containerStatuses"] = [{"restartCount": 3}]
    assert order(many, often) == ["often", "many"]
    beside = pod("beside", restarts=3)
    beside["spec"]["initContainers"] = [{"name": "s", "restartPolicy": "Always"}]
    beside["status"]["initContainerStatuses"] = [{"name": "s", "restartCount": 1}]
    assert order(often, beside) == ["beside", "often"]


def test_jobs_do_not_look_at_what_a_pod_is_said_to_be_worth() -> None:
    cheap = pod("cheap", ready_at=OLD, annotations={DELETION_COST: "-5"})
    ordered = least_advanced_first([cheap, pod("young", ready_at=NEW)])
    assert [each["metadata"]["name"] for each in ordered] == ["young", "cheap"]


@pytest.mark.parametrize(
    ("text", "cost"),
    [("7", 7), ("-7", -7), ("+7", 0), ("07", 0), ("", 0), ("-07", -7), ("4294967296", 0)],
)
def test_a_cost_is_a_number_as_go_writes_it(text: str, cost: int) -> None:
    assert deletion_cost(pod("p", annotations={DELETION_COST: text})) == cost


def test_missing_pods_are_created_in_bursts() -> None:
    assert plan_replicas(3, [pod("a")], (), now=NOW).create == 2
    assert plan_replicas(10_000, [], (), now=NOW).create == 500


def replica_set(replicas: int = 2, **spec: Any) -> JsonObject:
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": []}}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": "rs", "namespace": "default", "uid": "rs", "generation": 3}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {**body, **spec},
    }


def test_status_counts_and_says_when_to_look_again() -> None:
    pods = [pod("a", ready_at="2020-01-01T00:00:00Z"), pod("b", labels={"app": "y"})]
    now = 1577836800.0 + 4
    status, again = plan_status(replica_set(minReadySeconds=10), pods, now, None)
    assert status == {
        "replicas": 2,
        "fullyLabeledReplicas": 1,
        "readyReplicas": 1,
        "observedGeneration": 3,
    }
    assert again == 6.0


def test_failure_shows_as_a_condition_and_goes_again() -> None:
    failed, _ = plan_status(replica_set(), [], 0.0, InternalError("quota"))
    condition = failed["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    healed, _ = plan_status({**replica_set(), "status": failed}, [], 0.0, None)
    assert "conditions" not in healed


async def test_pod_that_matches_is_adopted_instead_of_created() -> None:
    api = FakeApi()
    api.seed(PODS, pod("stray"))
    api.seed(REPLICASETS, replica_set(2))
    subject = ReplicaSetController(make_context(api))
    async with controlling(subject):
        await eventually(lambda: len(api.all(PODS)) == 2)
    owners = [each["metadata"]["ownerReferences"][0]["uid"] for each in api.all(PODS)]
    assert owners == ["rs", "rs"]


async def test_adoption_that_conflicts_is_tried_again_before_anything_is_made() -> None:
    api = FakeApi()
    api.seed(PODS, pod("stray"))
    api.seed(REPLICASETS, replica_set(1))
    subject = ReplicaSetController(make_context(api))
    api.fail_next(ConflictError.of("pods", "stray", "the object has been modified"))
    async with controlling(subject):
        await eventually(lambda: "ownerReferences" in api.all(PODS)[0]["metadata"])
    assert len(api.all(PODS)) == 1
    assert not [call for call in api.calls if call[:2] == ("create", "pods")]


async def test_cache_that_lags_never_makes_too_many_pods() -> None:
    api = FakeApi()
    api.seed(REPLICASETS, replica_set(20))
    subject = ReplicaSetController(make_context(api))
    async with controlling(subject):
        for _ in range(50):
            subject.queue.add("default/rs")
            api.break_watches()
            await eventually(lambda: True)
        await eventually(lambda: len(api.all(PODS)) >= 20)
        await eventually(
            lambda: (
                (api.find(REPLICASETS, "default/rs") or {}).get("status", {}).get("replicas") == 20
            )
        )
    assert len(api.all(PODS)) == 20
    assert sum(verb == "create" for verb, kind, _ in api.calls if kind == "pods") == 20


async def test_refused_pods_are_reported_and_tried_again() -> None:
    api = FakeApi()
    api.seed(REPLICASETS, replica_set(1))
    api.fail_next(ForbiddenError("exceeded quota"))
    subject = ReplicaSetController(make_context(api))
    async with controlling(subject):
        await eventually(lambda: len(api.all(PODS)) == 1)
        await subject.context.recorder.flush()
    reasons = {event["reason"]: event["message"] for event in api.all(EVENTS)}
    assert reasons["FailedCreate"] == "Error creating: exceeded quota"
    assert reasons["SuccessfulCreate"].startswith("Created pod: rs-")


async def test_replication_controller_selects_by_plain_labels() -> None:
    api = FakeApi()
    subject = replica_set(2, selector={"app": "x"})
    api.seed(
        REPLICATIONCONTROLLERS, {**subject, "apiVersion": "v1", "kind": "ReplicationController"}
    )
    api.seed(PODS, pod("stray"))
    context = make_context(api)
    controllers = ReplicationController(context), ReplicaSetController(context)
    async with controlling(*controllers):
        await eventually(lambda: len(api.all(PODS)) == 2)
        await eventually(
            lambda: api.all(REPLICATIONCONTROLLERS)[0].get("status", {}).get("replicas") == 2
        )
        await context.recorder.flush()
    (owner,) = {each["metadata"]["ownerReferences"][0]["kind"] for each in api.all(PODS)}
    assert owner == "ReplicationController"
    (source,) = {event["source"]["component"] for event in api.all(EVENTS)}
    assert source == "replication-controller"


async def test_a_pod_that_came_and_went_unseen_is_made_again_after_a_while() -> None:
    """A cache that lists anew does not say what was there in between."""
    api, clock = FakeApi(), FakeClock()
    controller = ReplicaSetController(make_context(api, clock))
    later: list[float] = []

    def add_after(key: str, seconds: float) -> None:
        later.append(seconds)

    controller.queue.add_after = add_after  # type: ignore[method-assign]
    async with controlling(controller):
        controller._expected.expect_creations("default/rs", 1)
        api.seed(REPLICASETS, replica_set(1))
        await eventually(lambda: later)
        assert api.all(PODS) == []
        clock.advance(later[0])
        controller.queue.add("default/rs")
        await eventually(lambda: len(api.all(PODS)) == 1)
