import asyncio
import copy
from typing import Any

import pytest

from winkube.api.errors import ForbiddenError
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.events import EventRecorder
from winkube.client.informer import InformerPool
from winkube.client.resource import EVENTS, JOBS, PODS
from winkube.controllers.controller import Context
from winkube.controllers.job.backoff import Failures
from winkube.controllers.job.controller import JobController
from winkube.controllers.job.finalizer import JobOrphanController
from winkube.controllers.job.indexes import IndexSet
from winkube.controllers.job.plan import plan_end, plan_pods
from winkube.controllers.job.policy import judge, match_success
from winkube.controllers.job.template import job_pod
from winkube.controllers.job.tracking import plan_tracking, settle
from winkube.controllers.job.ttl import TtlAfterFinishedController
from winkube.controllers.job.view import FINALIZER, INDEX, JobView
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_clock import FakeClock
from winkube.testing.tasks import eventually, running

NOW = 1_600_000_000.0


def job(**spec: Any) -> JsonObject:
    labels = {"batch.kubernetes.io/controller-uid": "job-uid"}
    container = {"name": "c", "image": "i"}
    body = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"restartPolicy": "Never", "containers": [container]},
        },
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default", "uid": "job-uid", "generation": 1},
        "spec": {**body, **spec},
        "status": {},
    }


def pod(name: str, phase: str = "Running", **facts: Any) -> JsonObject:
    metadata: JsonObject = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "creationTimestamp": to_rfc3339(NOW),
        "finalizers": [FINALIZER] if facts.get("tracked", True) else [],
        "annotations": dict(facts.get("annotations", {})),
    }
    if "index" in facts:
        metadata["annotations"][INDEX] = str(facts["index"])
    if facts.get("deleting"):
        metadata["deletionTimestamp"] = to_rfc3339(NOW)
    status: JsonObject = {"phase": phase, "conditions": facts.get("conditions", [])}
    if "exit" in facts:
        ended = {"exitCode": facts["exit"], "finishedAt": to_rfc3339(NOW)}
        status["containerStatuses"] = [{"name": "c", "state": {"terminated": ended}}]
    return {"metadata": metadata, "spec": {"nodeName": "n"}, "status": status}


def view(subject: JsonObject, *pods: JsonObject, now: float = NOW, **facts: Any) -> JobView:
    return JobView(subject, pods, now, **facts)


def test_index_sets_are_written_as_upstream_writes_them() -> None:
    found = IndexSet.parse("1,3-5,7,8", 8)
    assert str(found) == "1,3-5,7"
    assert str(found.with_indexes([2, 9])) == "1-5,7,9"
    assert str(IndexSet().with_indexes([0, 1])) == "0,1"
    assert (len(found), 4 in found, 2 in found, 8 in found) == (5, True, False, False)
    assert list(found.missing(10)) == [0, 2, 6, 8, 9]
    assert found.common(IndexSet.parse("4-7", 10)) == 3


def test_back_off_doubles_up_to_ten_minutes_and_a_success_ends_it() -> None:
    assert Failures().remaining(NOW) == 0
    assert Failures(1, NOW).remaining(NOW + 4) == 6
    assert Failures(3, NOW).remaining(NOW) == 40
    assert Failures(50, NOW).remaining(NOW) == 600
    failed, succeeded = pod("f", "Failed", exit=1), pod("s", "Succeeded", exit=0)
    assert Failures(2, NOW - 9).after([], [failed]) == Failures(3, NOW)
    assert Failures(2, NOW - 9).after([succeeded], [failed]) == Failures()


def test_as_many_pods_as_completions_and_parallelism_allow() -> None:
    assert plan_pods(view(job(completions=5, parallelism=3))).create == 3
    done = [pod(f"d{n}", "Succeeded") for n in range(4)]
    assert plan_pods(view(job(completions=5, parallelism=3), *done)).create == 1
    assert plan_pods(view(job(completions=None, parallelism=3), pod("a"))).create == 2
    assert plan_pods(view(job(completions=None, parallelism=3), done[0])).create == 0


def test_failed_pods_are_replaced_after_a_pause() -> None:
    failed = pod("f", "Failed", exit=1)
    plan = plan_pods(view(job(), failed, now=NOW + 3))
    assert (plan.create, plan.wait) == (0, 7)
    assert plan_pods(view(job(), failed, now=NOW + 11)).create == 1


def test_surplus_and_suspended_pods_are_deleted() -> None:
    pods = [pod("a"), pod("b", "Pending")]
    assert [each["metadata"]["name"] for each in plan_pods(view(job(), *pods)).delete] == ["b"]
    assert len(plan_pods(view(job(suspend=True), *pods)).delete) == 2


def indexed(**spec: Any) -> JsonObject:
    return job(completionMode="Indexed", **{"completions": 4, "parallelism": 4, **spec})


def test_indexed_pods_fill_the_gaps_and_doubles_go() -> None:
    subject = indexed()
    plan = plan_pods(view(subject, pod("a", index=1), pod("b", "Succeeded", index=0)))
    assert plan.indexes == (2, 3)
    doubled = view(subject, pod("a", index=1), pod("b", "Pending", index=1), pod("c", index=9))
    assert {each["metadata"]["name"] for each in plan_pods(doubled).delete} == {"b", "c"}


def test_indexed_pods_know_their_index() -> None:
    job = indexed()
    before = copy.deepcopy(job)
    made = job_pod(view(job), 2)
    assert job == before, "the template is shared with the cache"
    assert made["metadata"]["generateName"] == "j-2-"
    assert made["metadata"]["labels"][INDEX] == made["metadata"]["annotations"][INDEX] == "2"
    assert made["metadata"]["finalizers"] == [FINALIZER]
    assert made["spec"]["hostname"] == "j-2"
    (variable,) = made["spec"]["containers"][0]["env"]
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"


def test_each_index_has_its_own_limit() -> None:
    subject = indexed(backoffLimitPerIndex=1, backoffLimit=2**31 - 1)
    counter = "batch.kubernetes.io/job-index-failure-count"
    first = pod("a", "Failed", index=0, exit=1, annotations={counter: "0"})
    later = view(subject, first, now=NOW + 20)
    assert plan_pods(later).indexes == (0, 1, 2, 3)
    assert job_pod(later, 0)["metadata"]["annotations"][counter] == "1"
    # The failed pod is kept until its replacement has inherited the count.
    assert plan_tracking(later, {}, None).release == ()
    last = pod("b", "Failed", index=0, exit=1, annotations={counter: "1"})
    over = view(subject, last, *(pod(f"s{n}", "Succeeded", index=n) for n in (1, 2, 3)))
    end = plan_end(over)
    assert end is not None
    assert (end["type"], end["reason"]) == ("FailureTarget", "FailedIndexes")
    assert plan_tracking(over, {}, end).status["failedIndexes"] == "0"


@pytest.mark.parametrize(
    ("rule", "action", "message"),
    [
        (
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
            "FailJob",
            "Container c for pod default/p failed with exit code 42 matching FailJob rule at "
            "index 0",
        ),
        ({"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [1]}}, "Ignore", ""),
        (
            {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]},
            "FailJob",
            "Pod default/p has condition DisruptionTarget matching FailJob rule at index 0",
        ),
        ({"action": "Count", "onExitCodes": {"operator": "In", "values": [1]}}, "", ""),
    ],
    ids=["exit code", "not in", "condition", "no match"],
)
def test_pod_failure_policy(rule: JsonObject, action: str, message: str) -> None:
    disrupted = [{"type": "DisruptionTarget", "status": "True"}]
    verdict = judge({"rules": [rule]}, pod("p", "Failed", exit=42, conditions=disrupted))
    assert (verdict.action, verdict.message) == (action, message)


def test_success_policy_counts_the_indexes_it_names() -> None:
    done = IndexSet.parse("0,2", 5)
    assert match_success({"rules": [{"succeededIndexes": "0-2"}]}, 5, done) is None
    rule = {"succeededIndexes": "0-2", "succeededCount": 2}
    assert match_success({"rules": [{"succeededCount": 3}, rule]}, 5, done) is not None
    subject = indexed(successPolicy={"rules": [{"succeededCount": 1}]})
    end = plan_end(view(subject, pod("a", "Succeeded", index=3)))
    assert end is not None
    assert (end["reason"], end["message"]) == ("SuccessPolicy", "Matched rules at index 0")


@pytest.mark.parametrize(
    ("spec", "pods", "now", "reason"),
    [
        ({"backoffLimit": 0}, [pod("a", "Failed", exit=1)], NOW, "BackoffLimitExceeded"),
        ({"activeDeadlineSeconds": 5}, [pod("a")], NOW + 6, "DeadlineExceeded"),
        ({"activeDeadlineSeconds": 5}, [pod("a")], NOW + 4, None),
    ],
)
def test_job_fails_by(
    spec: JsonObject, pods: list[JsonObject], now: float, reason: str | None
) -> None:
    subject = {**job(**spec), "status": {"startTime": to_rfc3339(NOW)}}
    end = plan_end(view(subject, *pods, now=now))
    assert (end or {}).get("reason") == reason


def test_books_list_the_uid_first_and_count_when_the_finalizer_is_gone() -> None:
    plan = plan_tracking(view(job(), pod("a", "Succeeded"), pod("b", "Failed")), {}, None)
    assert plan.status["uncountedTerminatedPods"] == {"succeeded": ["a"], "failed": ["b"]}
    assert len(plan.release) == 2
    after = settle(plan.status, frozenset({"b"}))
    assert after["succeeded"] == 1
    assert after["uncountedTerminatedPods"] == {"failed": ["b"]}


class Cluster:
    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.api = FakeApi(self.clock)
        recorder = EventRecorder(self.api, "job-controller", clock=self.clock)
        self.context = Context(self.api, InformerPool(self.api), recorder, clock=self.clock)
        self.jobs = JobController(self.context)
        self.orphans = JobOrphanController(self.context)
        self.ttl = TtlAfterFinishedController(self.context)

    def run(self) -> Any:
        return running(
            self.context.informers.run(),
            self.context.recorder.run(),
            self._controllers(),
        )

    async def _controllers(self) -> None:
        await self.context.informers.synced()
        async with asyncio.TaskGroup() as group:
            for controller in (self.jobs, self.orphans, self.ttl):
                group.create_task(controller.run())

    async def end_pod(self, name: str, phase: str, code: int = 0) -> None:
        ended = {"exitCode": code, "finishedAt": to_rfc3339(self.clock.now())}
        containers = [{"name": "c", "state": {"terminated": ended}}]
        status = {"phase": phase, "containerStatuses": containers}
        await self.api.patch(PODS, name, {"status": status}, subresource="status")

    def status(self) -> JsonObject:
        return (self.api.find(JOBS, "default/j") or {}).get("status") or {}

    def condition(self, type_: str) -> JsonObject | None:
        found = self.status().get("conditions") or ()
        return next((each for each in found if each["type"] == type_), None)

    def live(self) -> list[str]:
        return [
            each["metadata"]["name"]
            for each in self.api.all(PODS)
            if each["status"]["phase"] not in ("Succeeded", "Failed")
        ]

    async def reasons(self) -> list[str]:
        await self.context.recorder.flush()
        return [event["reason"] for event in self.api.all(EVENTS)]


async def test_job_runs_to_completion() -> None:
    cluster = Cluster()
    cluster.api.seed(JOBS, job(completions=3, parallelism=2))
    async with cluster.run():
        for count in (2, 2, 1):
            await eventually(lambda: len(cluster.live()) == count)  # noqa: B023 - awaited here
            await cluster.end_pod(cluster.live()[0], "Succeeded")
        await eventually(lambda: cluster.condition("Complete"))
        reasons = await cluster.reasons()
    status = cluster.status()
    assert status["succeeded"] == 3
    assert status["uncountedTerminatedPods"] == {}
    assert (status["ready"], status["terminating"], "active" in status) == (0, 0, False)
    assert [each["type"] for each in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert status["conditions"][1]["reason"] == "CompletionsReached"
    assert status["completionTime"] == status["conditions"][1]["lastTransitionTime"]
    assert len(cluster.api.all(PODS)) == 3
    assert not any("finalizers" in each["metadata"] for each in cluster.api.all(PODS))
    assert reasons.count("SuccessfulCreate") == 3
    assert reasons[-1] == "Completed"


async def test_job_that_fails_too_often_says_so_and_stops_its_pods() -> None:
    cluster = Cluster()
    cluster.api.seed(JOBS, job(backoffLimit=0, completions=2, parallelism=2))
    async with cluster.run():
        await eventually(lambda: len(cluster.live()) == 2)
        await cluster.end_pod(cluster.live()[0], "Failed", 1)
        await eventually(lambda: cluster.condition("Failed"))
        reasons = await cluster.reasons()
    kinds = [each["type"] for each in cluster.status()["conditions"]]
    assert kinds == ["FailureTarget", "Failed"]
    assert cluster.status()["failed"] == 2
    assert "completionTime" not in cluster.status()
    assert "BackoffLimitExceeded" in reasons
    assert "SuccessfulDelete" in reasons


async def test_suspended_job_has_no_pods_until_it_is_resumed() -> None:
    cluster = Cluster()
    cluster.api.seed(JOBS, job(suspend=True))
    async with cluster.run():
        await eventually(lambda: cluster.condition("Suspended"))
        assert cluster.live() == []
        assert "startTime" not in cluster.status()
        await cluster.api.patch(JOBS, "j", {"spec": {"suspend": False}})
        await eventually(lambda: len(cluster.live()) == 1)
        await eventually(lambda: (cluster.condition("Suspended") or {})["status"] == "False")
        await cluster.api.patch(JOBS, "j", {"spec": {"suspend": True}})
        await eventually(lambda: cluster.live() == [])
        reasons = await cluster.reasons()
    assert [each for each in reasons if not each.startswith("Successful")][:2] == [
        "Suspended",
        "Resumed",
    ]


async def test_orphans_lose_the_finalizer_when_the_job_is_gone() -> None:
    cluster = Cluster()
    cluster.api.seed(JOBS, job())
    async with cluster.run():
        await eventually(lambda: len(cluster.live()) == 1)
        await cluster.api.delete(JOBS, "j")
        await eventually(lambda: "finalizers" not in cluster.api.all(PODS)[0]["metadata"])


async def test_finished_job_is_deleted_after_its_time() -> None:
    cluster = Cluster()
    cluster.api.seed(JOBS, job(ttlSecondsAfterFinished=0))
    async with cluster.run():
        await eventually(lambda: len(cluster.live()) == 1)
        await cluster.end_pod(cluster.live()[0], "Succeeded")
        await eventually(lambda: "deletionTimestamp" in cluster.api.all(JOBS)[0]["metadata"])
    assert cluster.api.all(JOBS)[0]["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_lagging_caches_never_make_too_many_pods() -> None:
    cluster = Cluster()
    cluster.api.seed(JOBS, job(completions=30, parallelism=10))
    async with cluster.run():
        async with asyncio.timeout(20):
            while cluster.condition("Complete") is None:
                cluster.api.break_watches()
                for name in cluster.live()[:3]:
                    await cluster.end_pod(name, "Succeeded")
                cluster.jobs.queue.add("default/j")
                await asyncio.sleep(0.01)
    assert cluster.status()["succeeded"] == 30
    creations = [1 for verb, plural, _ in cluster.api.calls if (verb, plural) == ("create", "pods")]
    assert len(creations) == 30


async def test_refused_pods_are_reported() -> None:
    cluster = Cluster()
    cluster.api.seed(JOBS, job())
    cluster.api.fail_next(ForbiddenError("exceeded quota"))
    async with cluster.run():
        await eventually(lambda: len(cluster.live()) == 1)
        assert (await cluster.reasons())[0] == "FailedCreate"


async def test_job_of_another_controller_is_left_alone() -> None:
    cluster = Cluster()
    cluster.api.seed(JOBS, job(managedBy="example.com/other"))
    async with cluster.run():
        await asyncio.sleep(0.1)
        assert cluster.status() == {}
