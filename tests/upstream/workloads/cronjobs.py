"""CronJobs: suspension, missed runs, concurrency, time zones.

A scenario may begin at any second of a minute and take as long as it takes. So its CronJob is due
once a day, some minutes before it is let go: it finds one missed run, and no other comes.
"""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from tests.upstream.scenario import Scenario, Stage, Step, Test
from tests.upstream.steps import change, count, make, pause, remove, until
from tests.upstream.workloads.shapes import FAILING, job, job_over

from winkube.base.clock import SystemClock, to_rfc3339

Json = Any
DAY = 24 * 60 * 60


def cron(**spec: Json) -> Json:
    shape = job(notes=spec.pop("notes", {"exit": "after=0.1,code=0"}))["spec"]
    made = {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": shape}, **spec}
    return {"kind": "CronJob", "metadata": {"name": "web"}, "spec": made}


def due(made: Json, *, days: int = 0) -> Step:
    """Make a CronJob that has missed its run of just now, and those of so many days before."""

    async def step(stage: Stage) -> None:
        run = _minute(3)
        schedule = _schedule(stage, run, made["spec"].get("timeZone", "UTC"))
        await make({**made, "spec": {**made["spec"], "schedule": schedule}})(stage)
        await _let_go(stage, run - days * DAY)

    return step


def due_again() -> Step:
    """Let a suspended CronJob miss a later run than the one it was made for."""

    async def step(stage: Stage) -> None:
        run = _minute(1)
        await change("CronJob", "web", {"spec": {"schedule": _schedule(stage, run)}})(stage)
        await _let_go(stage, run)

    return step


def _minute(ago: int) -> float:
    return (SystemClock().now() // 60 - ago) * 60


def _schedule(stage: Stage, run: float, zone: str = "UTC") -> str:
    when = datetime.fromtimestamp(run, ZoneInfo(zone))
    schedule = f"{when.minute} {when.hour} * * *"
    stage.words[schedule] = "<then>"
    return schedule


async def _let_go(stage: Stage, run: float) -> None:
    """Let it believe that the last run was before this one."""
    body: Json = {"status": {"lastScheduleTime": to_rfc3339(run - 1)}}
    await change("CronJob", "web", body, sub="status")(stage)
    await change("CronJob", "web", {"spec": {"suspend": False}})(stage)


def has_run(obj: Json) -> bool:
    """Whether it wrote down a run: those are due at whole minutes, what it believed was not."""
    return bool(obj["status"]["lastScheduleTime"].endswith(":00Z"))


def stop() -> Step:
    return change("CronJob", "web", {"spec": {"suspend": True}})


def one_run(made: Json, *, days: int = 0, until_job: Test = job_over) -> list[Step]:
    """Suspended again when it has written down its run: before, it would forget the job."""
    return [
        due(made, days=days),
        count("Job", 1, until_job),
        until("CronJob", "web", has_run),
        stop(),
    ]


def is_running(obj: Json) -> bool:
    return bool(obj["status"].get("ready") == 1)


def is_about_cron(event: Json) -> bool:
    return bool(event["involvedObject"]["kind"] == "CronJob")


def no_job_left() -> Step:
    return until("CronJob", "web", lambda o: not o["status"].get("active"))


FAILING_JOB = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
    "spec": {**job(notes=FAILING)["spec"], "backoffLimit": 0},
}
LONG = {"exit": "after=1000,code=0"}
SCENARIOS = [
    Scenario("cron: suspended", [make(cron()), pause(1)]),
    Scenario(
        "cron: one missed run",
        [
            *one_run(cron()),
            no_job_left(),
            until("CronJob", "web", lambda o: o["status"].get("lastSuccessfulTime")),
        ],
    ),
    Scenario("cron: failing job", [*one_run(cron(jobTemplate=FAILING_JOB)), no_job_left()]),
    Scenario(
        "cron: forbid",
        [
            *one_run(
                cron(concurrencyPolicy="Forbid", notes=LONG),
                until_job=is_running,
            ),
            due_again(),
            count("Event", 1, lambda o: o["reason"] == "JobAlreadyActive"),
            stop(),
        ],
        ignore=("#JobAlreadyActive",),
    ),
    Scenario(
        "cron: replace",
        [
            *one_run(cron(concurrencyPolicy="Replace", notes=LONG), until_job=is_running),
            due_again(),
            count("Event", 2, lambda o: o["reason"] == "SuccessfulCreate" and is_about_cron(o)),
            count("Job", 1, is_running),
            count("Pod", 1),
            stop(),
        ],
    ),
    Scenario(
        "cron: allow",
        [
            *one_run(cron(notes=LONG), until_job=is_running),
            due_again(),
            count("Job", 2, is_running),
            until("CronJob", "web", lambda o: len(o["status"].get("active") or ()) == 2),
            stop(),
        ],
    ),
    Scenario(
        "cron: history",
        [
            *one_run(cron(successfulJobsHistoryLimit=1)),
            no_job_left(),
            due_again(),
            count("Event", 2, lambda o: o["reason"] == "SawCompletedJob"),
            count("Job", 1, job_over),
            count("Pod", 1),
            stop(),
        ],
    ),
    Scenario(
        "cron: too many missed",
        [*one_run(cron(), days=150), no_job_left()],
        ignore=("#TooManyMissedTimes",),
    ),
    Scenario(
        "cron: deadline missed",
        [due(cron(startingDeadlineSeconds=5)), pause(2), stop()],
    ),
    # A zone that has no summer: no hour of the year is there twice, or never.
    Scenario("cron: time zone", [*one_run(cron(timeZone="Asia/Kolkata")), no_job_left()]),
    Scenario(
        "cron: background deletion",
        [
            *one_run(cron()),
            no_job_left(),
            remove("CronJob", "web", "Background"),
            count("Job", 0),
            count("Pod", 0),
        ],
    ),
]
