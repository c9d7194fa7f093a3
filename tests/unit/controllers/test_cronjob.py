from typing import Any

from winkube.api.cron import parse_schedule
from winkube.api.errors import ConflictError, NotFoundError
from winkube.base.clock import parse_rfc3339, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.events import EventRecorder
from winkube.client.informer import InformerPool
from winkube.client.resource import CRONJOBS, EVENTS, JOBS, Resource
from winkube.controllers.controller import Context
from winkube.controllers.cronjob.controller import CronJobController
from winkube.controllers.cronjob.plan import Due, find_due, new_job, next_wake, plan_history
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_clock import FakeClock
from winkube.testing.tasks import eventually, running

CREATED = "2024-01-01T00:00:30Z"


def at(text: str) -> float:
    return parse_rfc3339(f"2024-01-01T{text}Z")


def cron_job(schedule: str = "*/10 * * * *", **spec: Any) -> JsonObject:
    status = spec.pop("status", {})
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"template": {}}}
    body = {
        "schedule": schedule,
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": template,
    }
    metadata = {"name": "c", "namespace": "default", "uid": "cj", "creationTimestamp": CREATED}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata,
        "spec": {**body, **spec},
        "status": status,
    }


def due(subject: JsonObject, now: float, *, deadline: bool = True) -> Due:
    schedule = parse_schedule(subject["spec"]["schedule"], subject["spec"].get("timeZone"))
    return find_due(subject, now, schedule, deadline=deadline)


def test_latest_missed_time_is_due() -> None:
    assert due(cron_job(), at("00:09:59")).latest is None
    assert due(cron_job(), at("00:10:00")).latest == at("00:10:00")
    found = due(cron_job(), at("00:35:00"))
    assert (found.latest, found.missed) == (at("00:30:00"), 3)
    ran = cron_job(status={"lastScheduleTime": "2024-01-01T00:30:00Z"})
    assert due(ran, at("00:35:00")).latest is None
    assert due(cron_job("* * * * *"), at("05:00:00")).missed > 100
    assert due(cron_job(startingDeadlineSeconds=60), at("00:35:00")).latest is None


def test_uneven_schedules_find_their_last_time() -> None:
    subject = cron_job("30 6-16/4 * * 1-5")
    assert due(subject, at("15:00:00")).latest == at("14:30:00")


def test_next_wake_is_a_little_after_the_next_time() -> None:
    schedule = parse_schedule("*/10 * * * *")
    assert round(next_wake(cron_job(), at("00:05:00"), schedule), 3) == 300.1
    assert round(next_wake(cron_job(), at("00:35:00"), schedule), 3) == 300.1


def test_job_is_named_by_its_minute_and_says_its_time() -> None:
    moment = at("00:10:00")
    made = new_job(cron_job(timeZone="Asia/Shanghai"), moment)
    assert made["metadata"]["name"] == f"c-{int(moment) // 60}"
    key = "batch.kubernetes.io/cronjob-scheduled-timestamp"
    assert made["metadata"]["annotations"][key] == "2024-01-01T08:10:00+08:00"
    assert made["metadata"]["labels"] == {"app": "x"}
    assert new_job(cron_job(), moment)["metadata"]["annotations"][key] == "2024-01-01T00:10:00Z"


def finished(name: str, condition: str, start: str) -> JsonObject:
    conditions = [{"type": condition, "status": "True"}]
    return {
        "metadata": {"name": name, "uid": name},
        "status": {"conditions": conditions, "startTime": start},
    }


def test_oldest_finished_jobs_are_history() -> None:
    jobs = [finished(f"s{n}", "Complete", f"2024-01-01T0{n}:00:00Z") for n in (3, 1, 2)]
    jobs += [finished(f"f{n}", "Failed", f"2024-01-01T0{n}:00:00Z") for n in (1, 2)]
    subject = cron_job(successfulJobsHistoryLimit=1)
    assert [each["metadata"]["name"] for each in plan_history(subject, jobs)] == ["s1", "s2", "f1"]


class Cluster:
    def __init__(self, now: str = "00:10:01", api: FakeApi | None = None) -> None:
        self.clock = FakeClock(at(now))
        self.api = api or FakeApi(self.clock)
        recorder = EventRecorder(self.api, "cronjob-controller", clock=self.clock)
        self.context = Context(self.api, InformerPool(self.api), recorder, clock=self.clock)
        self.subject = CronJobController(self.context)

    def run(self) -> Any:
        return running(self.context.informers.run(), self.context.recorder.run(), self._control())

    async def _control(self) -> None:
        await self.context.informers.synced()
        await self.subject.run()

    def status(self) -> JsonObject:
        return self.api.all(CRONJOBS)[0].get("status") or {}

    def jobs(self) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self.api.all(JOBS))

    async def tick(self, now: str) -> None:
        self.clock.advance(at(now) - self.clock.now())
        self.subject.queue.add("default/c")

    async def end(self, name: str, condition: str) -> None:
        time = to_rfc3339(self.clock.now())
        conditions = [{"type": condition, "status": "True", "lastTransitionTime": time}]
        status = {"conditions": conditions, "startTime": time, "completionTime": time}
        await self.api.patch(JOBS, name, {"status": status}, subresource="status")

    async def messages(self) -> dict[str, str]:
        await self.context.recorder.flush()
        return {event["reason"]: event["message"] for event in self.api.all(EVENTS)}


def minute(text: str) -> str:
    return f"c-{int(at(text)) // 60}"


async def test_job_is_started_listed_and_followed() -> None:
    cluster = Cluster()
    cluster.api.seed(CRONJOBS, cron_job())
    first = minute("00:10:00")
    async with cluster.run():
        await eventually(lambda: cluster.status().get("active"))
        assert cluster.jobs() == [first]
        assert cluster.status()["lastScheduleTime"] == "2024-01-01T00:10:00Z"
        (entry,) = cluster.status()["active"]
        assert (entry["kind"], entry["name"], entry["apiVersion"]) == ("Job", first, "batch/v1")
        await cluster.end(first, "Complete")
        await eventually(lambda: cluster.status().get("lastSuccessfulTime"))
        assert "active" not in cluster.status()
        messages = await cluster.messages()
    assert messages == {
        "SuccessfulCreate": f"Created job {first}",
        "SawCompletedJob": f"Saw completed job: {first}, condition: Complete",
    }


class Contended(FakeApi):
    """Somebody else was quicker, as often as said."""

    quicker = 0

    async def update(
        self, resource: Resource, obj: JsonObject, *, subresource: str | None = None
    ) -> JsonObject:
        if resource == CRONJOBS and self.quicker:
            self.quicker -= 1
            raise ConflictError("the object has been modified")
        return await super().update(resource, obj, subresource=subresource)


async def test_success_is_noted_though_its_job_is_no_history_and_the_first_write_fails() -> None:
    api = Contended()
    cluster = Cluster(api=api)
    api.seed(CRONJOBS, cron_job(successfulJobsHistoryLimit=0))
    async with cluster.run():
        await eventually(lambda: cluster.status().get("active"))
        api.quicker = 1
        await cluster.end(minute("00:10:00"), "Complete")
        await eventually(lambda: not cluster.jobs())
        await eventually(lambda: "active" not in cluster.status())
    assert cluster.status()["lastSuccessfulTime"] == "2024-01-01T00:10:01Z"


class Outrun(FakeApi):
    """Jobs are gone before they are deleted."""

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        options: JsonObject | None = None,
    ) -> JsonObject:
        gone = await super().delete(resource, name, namespace=namespace, options=options)
        if resource == JOBS:
            raise NotFoundError.of("jobs", name, group="batch")
        return gone


async def test_nothing_is_said_of_history_that_is_gone_already() -> None:
    cluster = Cluster(api=Outrun())
    cluster.api.seed(CRONJOBS, cron_job(successfulJobsHistoryLimit=0))
    async with cluster.run():
        await eventually(lambda: cluster.status().get("active"))
        await cluster.end(minute("00:10:00"), "Complete")
        await eventually(lambda: not cluster.jobs())
        await eventually(lambda: "active" not in cluster.status())
        messages = await cluster.messages()
    assert sorted(messages) == ["SawCompletedJob", "SuccessfulCreate"]


async def test_forbid_waits_for_the_running_job() -> None:
    cluster = Cluster()
    cluster.api.seed(CRONJOBS, cron_job(concurrencyPolicy="Forbid"))
    async with cluster.run():
        await eventually(lambda: cluster.status().get("active"))
        await cluster.tick("00:20:01")
        await eventually(lambda: len(cluster.api.all(EVENTS)) == 2)
        assert cluster.jobs() == [minute("00:10:00")]
        assert "JobAlreadyActive" in await cluster.messages()
        await cluster.end(minute("00:10:00"), "Failed")
        await eventually(lambda: len(cluster.jobs()) == 2)


async def test_replace_ends_the_running_job() -> None:
    cluster = Cluster()
    cluster.api.seed(CRONJOBS, cron_job(concurrencyPolicy="Replace"))
    async with cluster.run():
        await eventually(lambda: cluster.status().get("active"))
        await cluster.tick("00:20:01")
        await eventually(lambda: cluster.jobs() == [minute("00:20:00")])
        await eventually(lambda: cluster.status()["active"][0]["name"] == minute("00:20:00"))


async def test_suspended_too_late_and_senseless_schedules_start_nothing() -> None:
    for spec, reason in (
        ({"suspend": True}, None),
        ({"timeZone": "Mars/Base"}, "UnknownTimeZone"),
        ({"schedule": "x"}, "UnparseableSchedule"),
        ({"schedule": "59 23 31 2 *"}, "InvalidSchedule"),
    ):
        cluster = Cluster()
        cluster.api.seed(CRONJOBS, cron_job(**spec))
        async with cluster.run():
            if reason is None:
                await eventually(lambda: not len(cluster.subject.queue))  # noqa: B023
            else:
                await eventually(lambda: cluster.api.all(EVENTS))  # noqa: B023
            assert [*await cluster.messages()] == ([reason] if reason else [])
            assert cluster.jobs() == []


async def test_job_that_went_missing_is_no_longer_active() -> None:
    cluster = Cluster()
    cluster.api.seed(CRONJOBS, cron_job())
    async with cluster.run():
        await eventually(lambda: cluster.status().get("active"))
        await cluster.api.delete(JOBS, minute("00:10:00"))
        await eventually(lambda: "active" not in cluster.status())
        assert "MissingJob" in await cluster.messages()
        assert cluster.jobs() == []
