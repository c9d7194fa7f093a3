"""CronJobs: suspension, missed runs, concurrency, time zones."""

from typing import Any

from tests.upstream.scenario import Scenario, Stage, Step
from tests.upstream.steps import change, count, make, pause, remove, until
from tests.upstream.workloads.shapes import FAILING, job, job_over

from winkube.base.clock import SystemClock, to_rfc3339
from winkube.client.resource import CRONJOBS

Json = Any


def cron(**spec: Json) -> Json:
    shape = job(notes=spec.pop("notes", {"exit": "after=0.1,code=0"}))["spec"]
    made = {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": shape}, **spec}
    return {"kind": "CronJob", "metadata": {"name": "web"}, "spec": made}


def last_run(seconds_ago: float) -> Step:
    """Let the CronJob believe it ran so long ago, then let it go on."""

    async def step(stage: Stage) -> None:
        when = to_rfc3339(SystemClock().now() - seconds_ago)
        body: Json = {"status": {"lastScheduleTime": when}}
        await stage.client.patch(
            CRONJOBS, "web", body, namespace=stage.namespace, subresource="status"
        )
        await stage.client.patch(
            CRONJOBS, "web", {"spec": {"suspend": False}}, namespace=stage.namespace
        )

    return step


def stop() -> Step:
    return change("CronJob", "web", {"spec": {"suspend": True}})


SCENARIOS = [
    Scenario("cron: suspended", [make(cron()), pause(1)]),
    Scenario(
        "cron: one missed run",
        [
            make(cron()),
            last_run(90),
            count("Job", 1, job_over),
            stop(),
            until(
                "CronJob",
                "web",
                lambda o: not o["status"].get("active") and o["status"].get("lastSuccessfulTime"),
            ),
        ],
    ),
    Scenario(
        "cron: failing job",
        [
            make(
                {
                    **cron(notes=FAILING),
                    "spec": {
                        **cron(notes=FAILING)["spec"],
                        "jobTemplate": {
                            "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
                            "spec": {**job(notes=FAILING)["spec"], "backoffLimit": 0},
                        },
                    },
                }
            ),
            last_run(90),
            count("Job", 1, job_over),
            stop(),
            until("CronJob", "web", lambda o: not o["status"].get("active")),
        ],
    ),
    Scenario(
        "cron: forbid",
        [
            make(cron(concurrencyPolicy="Forbid", notes={"exit": "after=100,code=0"})),
            last_run(90),
            count("Job", 1, lambda o: o["status"].get("ready") == 1),
            stop(),
            last_run(90),
            pause(2),
            stop(),
        ],
        ignore=("CronJob.metadata.generation", "#JobAlreadyActive"),
    ),
    Scenario(
        "cron: too many missed",
        [
            make(cron()),
            last_run(60 * 60 * 3),
            count("Job", 1, job_over),
            stop(),
            until("CronJob", "web", lambda o: not o["status"].get("active")),
        ],
        ignore=("#TooManyMissedTimes",),
    ),
    Scenario(
        "cron: deadline missed",
        [
            make(cron(schedule="0 0 1 1 *", startingDeadlineSeconds=5)),
            last_run(60 * 60 * 24 * 366),
            pause(2),
            stop(),
        ],
    ),
    Scenario(
        "cron: time zone",
        [
            make(cron(timeZone="Europe/Berlin")),
            last_run(90),
            count("Job", 1, job_over),
            stop(),
            until("CronJob", "web", lambda o: not o["status"].get("active")),
        ],
    ),
    Scenario(
        "cron: background deletion",
        [
            make(cron()),
            last_run(90),
            count("Job", 1, job_over),
            stop(),
            remove("CronJob", "web", "Background"),
            count("Job", 0),
            count("Pod", 0),
        ],
    ),
]
