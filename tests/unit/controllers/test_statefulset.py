import copy
from collections.abc import Sequence
from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.controllers.statefulset.identity import (
    claims_of,
    is_member,
    ordinal_of,
    with_identity,
)
from winkube.controllers.statefulset.plan import Act, Plan, SetView, plan_set
from winkube.controllers.statefulset.retention import has_conflict, wanted_owners
from winkube.controllers.statefulset.revision import (
    by_number,
    hash_of,
    new_revision,
    plan_history,
    plan_revision,
    same_data,
    template_of,
)
from winkube.controllers.statefulset.status import plan_status

LABELS = {"app": "db"}
SINCE = "2020-01-01T00:00:00Z"
NOW = 1577836800.0 + 100


def stateful_set(replicas: int = 3, image: str = "one", **spec: Any) -> JsonObject:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"image": image}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default", "uid": "set", "generation": 2},
        "spec": {
            "replicas": replicas,
            "serviceName": "headless",
            "selector": {"matchLabels": LABELS},
            "template": template,
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            **spec,
        },
    }


OLD = new_revision(stateful_set(image="old"), 1, 0)
NEW = new_revision(stateful_set(), 2, 0)


def pod(number: int, revision: JsonObject = NEW, **facts: Any) -> JsonObject:
    name = f"db-{number}"
    conditions = []
    if facts.get("ready", True):
        since = facts.get("since", SINCE)
        conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    metadata: JsonObject = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{number}",
        "labels": {
            **LABELS,
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": str(number),
            "controller-revision-hash": revision["metadata"]["name"],
        },
    }
    if facts.get("deleting"):
        metadata["deletionTimestamp"] = SINCE
    status = {"phase": facts.get("phase", "Running"), "conditions": conditions}
    return {"metadata": metadata, "spec": {}, "status": status}


def view(
    subject: JsonObject,
    pods: Sequence[JsonObject],
    claims: dict[str, JsonObject] | None = None,
    current: JsonObject = NEW,
) -> SetView:
    return SetView(subject, current, NEW, pods, (claims or {}).get, NOW)


def steps(plan: Plan) -> list[str]:
    said = [f"{step.act.value} {step.pod['metadata']['name']}" for step in plan.steps]
    said += [f"shrink {each['metadata']['name']}" for each in plan.shrink]
    if plan.outdated is not None:
        said.append(f"roll {plan.outdated['metadata']['name']}")
    return said


@pytest.mark.parametrize(
    ("name", "ordinal"),
    [("db-0", 0), ("db-12", 12), ("db", -1), ("db-x", -1), ("db-2147483648", -1)],
)
def test_ordinal_is_the_number_at_the_end(name: str, ordinal: int) -> None:
    assert ordinal_of({"metadata": {"name": name}}) == ordinal


def test_only_pods_named_after_the_set_are_members() -> None:
    assert is_member(stateful_set(), {"metadata": {"name": "db-4"}})
    assert not is_member(stateful_set(), {"metadata": {"name": "db-x-4"}})


def test_ordered_set_makes_one_pod_at_a_time() -> None:
    assert steps(plan_set(view(stateful_set(), []))) == ["create db-0"]
    assert steps(plan_set(view(stateful_set(), [pod(0)]))) == ["create db-1"]
    waiting = pod(1, phase="Pending", ready=False)
    assert steps(plan_set(view(stateful_set(), [pod(0), waiting]))) == ["claim db-1"]


def test_parallel_set_makes_all_pods_at_once() -> None:
    subject = stateful_set(podManagementPolicy="Parallel")
    assert steps(plan_set(view(subject, [pod(1)]))) == ["create db-0", "create db-2"]


@pytest.mark.parametrize("policy", ["Parallel", "OrderedReady"])
def test_more_pods_than_anybody_can_count_are_planned_in_portions(policy: str) -> None:
    subject = stateful_set(replicas=2**31 - 1, podManagementPolicy=policy)
    plan = plan_set(view(subject, [pod(0), pod(2), pod(2000)]))
    assert len(plan.replicas) == 503
    assert [ordinal_of(each) for each in (*plan.replicas[:4], plan.replicas[-1])] == [
        0,
        1,
        2,
        3,
        2000,
    ]


def test_new_pod_has_its_identity() -> None:
    claim = {"metadata": {"name": "data", "labels": {"a": "b"}}, "spec": {"storageClassName": "x"}}
    made = plan_set(view(stateful_set(volumeClaimTemplates=[claim]), [])).steps[0].pod
    assert made["metadata"]["name"] == "db-0"
    assert made["metadata"]["generateName"] == "db-"
    assert made["metadata"]["labels"] == pod(0)["metadata"]["labels"]
    assert made["spec"]["hostname"] == "db-0"
    assert made["spec"]["subdomain"] == "headless"
    assert made["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}
    ]
    owner = made["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("StatefulSet", "db", True)


def test_claims_carry_the_selectors_labels() -> None:
    claim = {"metadata": {"name": "data", "labels": {"a": "b"}}, "spec": {}}
    found = claims_of(stateful_set(volumeClaimTemplates=[claim]), 4)["data"]
    assert found["metadata"]["name"] == "data-db-4"
    assert found["metadata"]["labels"] == {"a": "b", "app": "db"}


def test_ordinals_start_where_the_set_says() -> None:
    subject = stateful_set(2, ordinals={"start": 5})
    assert steps(plan_set(view(subject, [pod(5)]))) == ["create db-6"]
    assert steps(plan_set(view(subject, [pod(0), pod(5), pod(6)]))) == ["shrink db-0"]


def test_ended_pod_is_removed_so_that_it_can_be_made_again() -> None:
    assert steps(plan_set(view(stateful_set(1), [pod(0, phase="Failed")]))) == ["delete db-0"]
    gone = pod(0, phase="Succeeded", deleting=True)
    assert steps(plan_set(view(stateful_set(1), [gone]))) == []


def test_pod_on_a_lost_node_is_waited_for() -> None:
    lost = pod(0, deleting=True, phase="Unknown", ready=False)
    assert steps(plan_set(view(stateful_set(), [lost, pod(1), pod(2)]))) == []


def test_surplus_pods_go_one_by_one_from_the_highest() -> None:
    pods = [pod(number) for number in range(5)]
    assert steps(plan_set(view(stateful_set(2), pods))) == ["shrink db-4"]
    pods[4] = pod(4, deleting=True)
    assert steps(plan_set(view(stateful_set(2), pods))) == []
    parallel = stateful_set(2, podManagementPolicy="Parallel")
    assert steps(plan_set(view(parallel, pods))) == ["shrink db-3", "shrink db-2"]


def test_sick_surplus_pod_goes_only_when_it_is_the_first_sick_one() -> None:
    pods = [pod(0), pod(1), pod(2, ready=False)]
    assert steps(plan_set(view(stateful_set(1), pods))) == ["shrink db-2"]
    pods[1] = pod(1, ready=False)
    assert steps(plan_set(view(stateful_set(1), pods))) == []


def test_rollout_replaces_the_highest_outdated_pod_and_waits() -> None:
    pods = [pod(0, OLD), pod(1, OLD), pod(2, OLD)]
    assert steps(plan_set(view(stateful_set(), pods, current=OLD))) == ["roll db-2"]
    pods[2] = pod(2)
    assert steps(plan_set(view(stateful_set(), pods, current=OLD))) == ["roll db-1"]
    pods[2] = pod(2, ready=False)
    assert steps(plan_set(view(stateful_set(), pods, current=OLD))) == []


def test_rollout_stops_at_the_partition() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    subject = stateful_set(updateStrategy=rolling)
    pods = [pod(0, OLD), pod(1, OLD), pod(2)]
    assert steps(plan_set(view(subject, pods, current=OLD))) == []
    made = plan_set(view(subject, pods[:1], current=OLD)).steps[0].pod
    assert made["metadata"]["labels"]["controller-revision-hash"] == OLD["metadata"]["name"]
    assert made["spec"]["containers"][0]["image"] == "old"


def test_on_delete_never_replaces_but_makes_new_pods_of_the_new_revision() -> None:
    subject = stateful_set(updateStrategy={"type": "OnDelete"})
    pods = [pod(0, OLD), pod(1, OLD), pod(2, OLD)]
    assert steps(plan_set(view(subject, pods, current=OLD))) == []
    made = plan_set(view(subject, pods[:2], current=OLD)).steps[0].pod
    assert made["spec"]["containers"][0]["image"] == "one"


def test_pod_counts_as_available_after_min_ready_seconds() -> None:
    subject = stateful_set(2, minReadySeconds=30)
    young = pod(0, since="2020-01-01T00:01:30Z")
    seen = view(subject, [young])
    plan = plan_set(seen)
    assert steps(plan) == []
    status, again = plan_status(seen, plan, 0)
    assert (status["readyReplicas"], status["availableReplicas"], again) == (1, 0, 20.0)


def test_set_that_is_deleted_does_nothing() -> None:
    subject = stateful_set()
    subject["metadata"]["deletionTimestamp"] = SINCE
    assert steps(plan_set(view(subject, [pod(0)]))) == []


def test_lost_label_is_put_back() -> None:
    bare = pod(0)
    del bare["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"]
    plan = plan_set(view(stateful_set(1), [bare]))
    assert [step.act for step in plan.steps] == [Act.REPAIR]
    assert (
        with_identity(stateful_set(1), bare)["metadata"]["labels"] == pod(0)["metadata"]["labels"]
    )


def test_status_of_a_rollout_and_of_its_end() -> None:
    pods = [pod(0, OLD), pod(1, OLD), pod(2)]
    seen = view(stateful_set(), pods, current=OLD)
    status, _ = plan_status(seen, plan_set(seen), 0)
    assert status == {
        "observedGeneration": 2,
        "replicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "currentReplicas": 1,
        "updatedReplicas": 1,
        "currentRevision": OLD["metadata"]["name"],
        "updateRevision": NEW["metadata"]["name"],
        "collisionCount": 0,
    }
    seen = view(stateful_set(), [pod(0), pod(1), pod(2)], current=OLD)
    status, _ = plan_status(seen, plan_set(seen), 0)
    assert status["currentRevision"] == NEW["metadata"]["name"]
    assert status["currentReplicas"] == 3


def retaining(deleted: str, scaled: str, replicas: int = 1) -> JsonObject:
    policy = {"whenDeleted": deleted, "whenScaled": scaled}
    return stateful_set(replicas, persistentVolumeClaimRetentionPolicy=policy)


def owners(subject: JsonObject, number: int, *have: JsonObject) -> list[str] | None:
    claim = {"metadata": {"name": "data-db-0", "ownerReferences": list(have)}}
    found = wanted_owners(claim, subject, pod(number))
    return None if found is None else [f"{each['kind']} {each['uid']}" for each in found]


SET = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "name": "db",
    "uid": "set",
    "controller": True,
}
POD = {"apiVersion": "v1", "kind": "Pod", "name": "db-1", "uid": "uid-1", "controller": True}


@pytest.mark.parametrize(
    ("policy", "number", "have", "wanted"),
    [
        (("Retain", "Retain"), 0, [], None),
        (("Retain", "Retain"), 0, [SET], []),
        (("Delete", "Retain"), 0, [], ["StatefulSet set"]),
        (("Delete", "Retain"), 0, [SET], None),
        (("Retain", "Delete"), 0, [], None),
        (("Retain", "Delete"), 1, [], ["Pod uid-1"]),
        (("Delete", "Delete"), 0, [], ["StatefulSet set"]),
        (("Delete", "Delete"), 1, [SET], ["Pod uid-1"]),
        (("Delete", "Delete"), 1, [POD], None),
    ],
)
def test_retention_policy_names_the_owner(
    policy: tuple[str, str], number: int, have: list[JsonObject], wanted: list[str] | None
) -> None:
    assert owners(retaining(*policy), number, *have) == wanted


def test_claim_of_another_controller_is_left_alone() -> None:
    other = {"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": "x", "controller": True}
    claim = {"metadata": {"ownerReferences": [other]}}
    assert has_conflict(claim, retaining("Delete", "Retain"), pod(0))
    assert owners(retaining("Delete", "Retain"), 0, other) is None
    assert owners(retaining("Delete", "Retain"), 0, other, SET) == ["X x"]


def test_pod_waits_until_the_claim_of_its_predecessor_is_gone() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {}}
    subject = retaining("Retain", "Delete")
    subject["spec"]["volumeClaimTemplates"] = [claim]
    stale = {**POD, "name": "db-0", "uid": "gone"}
    held = {"data-db-0": {"metadata": {"name": "data-db-0", "ownerReferences": [stale]}}}
    assert steps(plan_set(view(subject, [], held))) == []
    assert steps(plan_set(view(subject, []))) == ["create db-0"]


def test_template_seen_before_gets_its_old_revision_back() -> None:
    listed = by_number([NEW, OLD])
    assert plan_revision(stateful_set(), listed, 0).update is NEW
    again = plan_revision(stateful_set(image="old"), listed, 0)
    assert (again.update, again.raise_to) == (OLD, 3)
    fresh = plan_revision(stateful_set(image="three"), listed, 0)
    assert (fresh.create, fresh.update["revision"]) == (True, 3)


def test_revision_gives_the_template_back() -> None:
    subject = stateful_set()
    found = template_of(new_revision(subject, 1, 0))
    for container in found["spec"]["containers"]:
        del container["resources"]
    assert found == subject["spec"]["template"]
    assert same_data(OLD, copy.deepcopy(OLD))
    assert not same_data(OLD, NEW)


def test_hash_is_fnv_and_changes_with_the_collision_count() -> None:
    assert hash_of({}, 0) != hash_of({}, 1)
    assert NEW["metadata"]["labels"]["controller.kubernetes.io/hash"] == hash_of(NEW["data"], 0)
    assert NEW["metadata"]["name"] == f"db-{hash_of(NEW['data'], 0)}"


def test_history_beyond_the_limit_is_forgotten_oldest_first() -> None:
    revisions = [new_revision(stateful_set(image=str(number)), number, 0) for number in range(1, 6)]
    subject = stateful_set(revisionHistoryLimit=2)
    used = [revisions[4]["metadata"]["name"]]
    held = [pod(0, revisions[0])]
    assert plan_history(subject, revisions, held, used) == [revisions[1]]
    assert plan_history(stateful_set(), revisions, [], used) == []
