from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.controllers.deployment import revision, scaling, status, template
from winkube.controllers.deployment.view import DESIRED, MAX_REPLICAS, REVISION, Rollout

Sizes = dict[str, int]


def replica_set(name: str, replicas: int, **facts: Any) -> JsonObject:
    annotations = {REVISION: str(facts.get("revision", 1)), **facts.get("annotations", {})}
    counts = {"replicas": replicas, "availableReplicas": facts.get("available", replicas)}
    counts["readyReplicas"] = counts["availableReplicas"]
    return {
        "metadata": {
            "name": name,
            "annotations": annotations,
            "creationTimestamp": facts.get("created", "2020-01-01T00:00:00Z"),
            "generation": 1,
        },
        "spec": {"replicas": replicas, "template": facts.get("template", {})},
        "status": {key: value for key, value in counts.items() if value}
        | {"observedGeneration": 1},
    }


def rollout(replicas: int, new: JsonObject | None = None, *old: JsonObject, **spec: Any) -> Rollout:
    strategy = {
        "type": spec.pop("strategy", "RollingUpdate"),
        "rollingUpdate": {
            "maxSurge": spec.pop("surge", "25%"),
            "maxUnavailable": spec.pop("unavailable", "25%"),
        },
    }
    body = {"replicas": replicas, "strategy": strategy, "progressDeadlineSeconds": 600, **spec}
    deployment = {"metadata": {"name": "d", "generation": 2}, "spec": body, "status": {}}
    return Rollout(deployment, new, old)


def sizes(resizes: list[scaling.Resize]) -> Sizes:
    return {each.replica_set["metadata"]["name"]: each.replicas for each in resizes}


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "bounds"),
    [
        (10, "25%", "25%", (3, 2)),
        (1, "25%", "25%", (1, 0)),
        (4, 0, 0, (0, 1)),
        (3, 0, "10%", (0, 1)),
        (2, 1, 5, (1, 2)),
    ],
)
def test_surge_rounds_up_and_unavailable_down(
    replicas: int, surge: Any, unavailable: Any, bounds: tuple[int, int]
) -> None:
    subject = rollout(replicas, surge=surge, unavailable=unavailable)
    assert (subject.max_surge, subject.max_unavailable) == bounds


def test_new_set_grows_only_into_the_surge() -> None:
    subject = rollout(10, replica_set("new", 0), replica_set("old", 10))
    assert sizes(scaling.plan_new_set(subject)) == {"new": 3}
    full = rollout(10, replica_set("new", 3), replica_set("old", 10))
    assert scaling.plan_new_set(full) == []


def test_old_sets_shrink_as_far_as_availability_allows() -> None:
    subject = rollout(10, replica_set("new", 3, available=0), replica_set("old", 10))
    assert sizes(scaling.plan_old_sets(subject)) == {"old": 8}
    ready = rollout(10, replica_set("new", 3), replica_set("old", 10))
    assert sizes(scaling.plan_old_sets(ready)) == {"old": 5}


def test_broken_old_pods_go_first() -> None:
    broken = replica_set("broken", 4, available=0, created="2020-02-01T00:00:00Z")
    subject = rollout(10, replica_set("new", 3, available=0), broken, replica_set("old", 8))
    assert sizes(scaling.plan_old_sets(subject)) == {"broken": 0}


def test_stuck_rollout_keeps_enough_pods() -> None:
    subject = rollout(4, replica_set("new", 1, available=0), replica_set("old", 3))
    assert scaling.plan_old_sets(subject) == []


def test_scaling_in_the_middle_of_a_rollout_is_proportional() -> None:
    notes = {DESIRED: "10", MAX_REPLICAS: "13"}
    new = replica_set("new", 5, annotations=notes, created="2020-02-01T00:00:00Z")
    subject = rollout(20, new, replica_set("old", 8, annotations=notes))
    assert scaling.is_scaling(subject)
    planned = sizes(scaling.plan_scale(subject))
    assert sum(planned.values()) == 25
    assert planned == {"old": 15, "new": 10}


@pytest.mark.parametrize("noted", ["0", "none", "-1", "9" * 5000, None])
def test_without_a_note_of_the_size_the_size_there_is_counts(noted: str | None) -> None:
    notes = {DESIRED: "10"} if noted is None else {DESIRED: "10", MAX_REPLICAS: noted}
    new = replica_set("new", 5, annotations=notes, created="2020-02-01T00:00:00Z")
    subject = rollout(20, new, replica_set("old", 8, annotations=notes))
    subject.deployment["status"] = {"replicas": 13}
    assert sizes(scaling.plan_scale(subject)) == {"old": 15, "new": 10}


def test_scaling_to_nothing_empties_every_set() -> None:
    notes = {DESIRED: "4", MAX_REPLICAS: "5"}
    new = replica_set("new", 2, annotations=notes)
    subject = rollout(0, new, replica_set("old", 3, annotations=notes))
    assert sizes(scaling.plan_scale(subject)) == {"new": 0, "old": 0}


def test_paused_deployment_scales_its_only_active_set() -> None:
    subject = rollout(5, None, replica_set("old", 2), paused=True)
    assert sizes(scaling.plan_scale(subject)) == {"old": 5}


def test_recreate_empties_old_sets_first() -> None:
    subject = rollout(3, None, replica_set("old", 3), strategy="Recreate")
    assert sizes(scaling.plan_recreate_down(subject)) == {"old": 0}
    assert scaling.new_set_size(subject, 0) == 3


def condition(planned: JsonObject, type_: str) -> tuple[str, str]:
    found = next(entry for entry in planned["conditions"] if entry["type"] == type_)
    return found["status"], found["reason"]


def test_status_of_a_finished_rollout() -> None:
    subject = rollout(3, replica_set("new", 3))
    planned = status.plan_rollout_status(subject, 1000.0)
    assert condition(planned, "Available") == ("True", "MinimumReplicasAvailable")
    assert condition(planned, "Progressing") == ("True", "NewReplicaSetAvailable")
    assert planned["observedGeneration"] == 2
    assert "unavailableReplicas" not in planned


def test_rollout_that_stands_still_times_out_and_recovers() -> None:
    subject = rollout(3, replica_set("new", 3, available=0))
    started = status.plan_rollout_status(subject, 1000.0)
    assert condition(started, "Progressing") == ("True", "ReplicaSetUpdated")
    waiting = Rollout({**subject.deployment, "status": started}, subject.new)
    assert status.seconds_to_deadline(waiting, started["conditions"], 1100.0) == 500.0
    late = status.plan_rollout_status(waiting, 1700.0)
    assert condition(late, "Progressing") == ("False", "ProgressDeadlineExceeded")
    assert condition(late, "Available") == ("False", "MinimumReplicasUnavailable")
    done = Rollout({**subject.deployment, "status": late}, replica_set("new", 3))
    healed = status.plan_rollout_status(done, 1800.0)
    assert condition(healed, "Progressing") == ("True", "NewReplicaSetAvailable")


def test_failure_of_a_set_shows_on_the_deployment() -> None:
    failing = replica_set("new", 3, available=0)
    failing["status"]["conditions"] = [
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    ]
    planned = status.plan_rollout_status(rollout(3, failing), 0.0)
    assert condition(planned, "ReplicaFailure") == ("True", "FailedCreate")


TEMPLATE: JsonObject = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"image": "a"}]},
}


def test_hash_depends_on_the_template_and_the_collisions() -> None:
    same = {"spec": TEMPLATE["spec"], "metadata": {**TEMPLATE["metadata"], "annotations": {}}}
    first = template.template_hash(TEMPLATE, None)
    assert first == template.template_hash(same, None)
    assert first != template.template_hash(TEMPLATE, 1)
    assert set(first) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_set_of_the_current_template_is_found_despite_its_hash_label() -> None:
    deployment: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "default", "uid": "u"},
        "spec": {"template": TEMPLATE, "selector": {"matchLabels": {"app": "x"}}},
    }
    made = template.new_replica_set(deployment, 3, {})
    digest = made["metadata"]["labels"]["pod-template-hash"]
    assert made["metadata"]["name"] == f"d-{digest}"
    assert made["spec"]["selector"]["matchLabels"]["pod-template-hash"] == digest
    assert template.find_new(deployment, [made]) is made
    other = {**deployment, "spec": {**deployment["spec"], "template": {"spec": {}}}}
    assert template.find_new(other, [made]) is None


def test_history_keeps_the_latest_revisions() -> None:
    old = [replica_set(f"r{n}", 0, revision=n) for n in range(1, 6)]
    subject = rollout(1, replica_set("new", 1, revision=6), *old, revisionHistoryLimit=2)
    names = [each["metadata"]["name"] for each in revision.plan_cleanup(subject)]
    assert names == ["r1", "r2", "r3"]


def test_set_that_becomes_current_again_gets_the_next_revision() -> None:
    again = replica_set("again", 0, revision=1)
    subject = rollout(1, again, replica_set("other", 1, revision=2))
    wanted = revision.plan_annotations(subject, again)
    assert wanted[REVISION] == "3"
    assert wanted["deployment.kubernetes.io/revision-history"] == "1"


def test_the_history_of_a_set_that_comes_and_goes_stays_short() -> None:
    trace = "deployment.kubernetes.io/revision-history"
    long = ",".join(str(number) for number in range(1000, 1400))
    again = replica_set("again", 0, revision=1400, annotations={trace: long})
    subject = rollout(1, again, replica_set("other", 1, revision=1401))
    wanted = revision.plan_annotations(subject, again)[trace]
    assert wanted.split(",")[-2:] == ["1399", "1400"]
    assert 1990 < len(wanted) <= 2000


def test_rollback_finds_the_revision_asked_for() -> None:
    sets = [replica_set(f"r{n}", 0, revision=n) for n in (1, 2)]
    subject = rollout(1, replica_set("new", 1, revision=3), *sets)
    previous = revision.find_revision(subject, 0)
    assert previous is not None
    assert previous["metadata"]["name"] == "r2"
    assert revision.find_revision(subject, 9) is None
