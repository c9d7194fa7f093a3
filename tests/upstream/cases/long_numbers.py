"""Numbers with more digits than any number has, where texts stand for numbers."""

from typing import Any, Final

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.objects import SAMPLE
from tests.upstream.variants import DRY

LONG: Final = "9" * 25
# Longer than what the languages that read it take for a number.
LONGEST: Final = "9" * 4400
TEXTS: Final = ("12", "+12", "-12", "0012", "1_2", " 12", "x", "", LONG, f"-{LONG}", "0" * 25 + "7")
PODS: Final = "/api/v1/namespaces/{ns}/pods"
POD: Final = f"{PODS}/a"
NOTE: Final = "deprecated.daemonset.template.generation"
SETS, DAEMONS, CRONS = SAMPLE["Deployment"], SAMPLE["DaemonSet"], SAMPLE["CronJob"]
POLICIES: Final = SAMPLE["NetworkPolicy"]


def pod(**spec: Any) -> Any:
    containers = [{"name": "c", "image": "i"}]
    return {
        "metadata": {"name": "a"},
        "spec": {"automountServiceAccountToken": False, "containers": containers, **spec},
    }


def rolling(**said: Any) -> Any:
    spec = {"strategy": {"type": "RollingUpdate", "rollingUpdate": said}}
    return {"metadata": {"name": "a"}, "spec": {**SETS.body["spec"], **spec}}


def noting(text: str) -> Any:
    return {"metadata": {"name": "a", "annotations": {NOTE: text}}, "spec": DAEMONS.body["spec"]}


def cron(schedule: str) -> Any:
    return {"metadata": {"name": "a"}, "spec": {**CRONS.body["spec"], "schedule": schedule}}


def policy(cidr: str) -> Any:
    peer = {"ipBlock": {"cidr": cidr}}
    return {"metadata": {"name": "a"}, "spec": {"podSelector": {}, "ingress": [{"from": [peer]}]}}


def _created(path: str, bodies: list[Any]) -> list[Step]:
    return [Step("POST", f"{path}{DRY}", body) for body in bodies]


CASES = [
    Case(
        "shares",
        _created(
            SETS.path,
            [
                rolling(maxUnavailable=f"{text}%", maxSurge=0)
                for text in ("12", "0", "101", "0" * 25 + "7", "9" * 11, LONG)
            ]
            + [rolling(maxUnavailable=0, maxSurge=f"{text}%") for text in ("0" * 25, LONG)]
            + [rolling(maxUnavailable=text, maxSurge=0) for text in TEXTS],
        ),
        managed=False,
    ),
    Case(
        "counts of templates",
        [
            *_created(DAEMONS.path, [noting(text) for text in (*TEXTS, LONGEST)]),
            Step("POST", DAEMONS.path, noting("7")),
            *(
                Step(
                    "PATCH",
                    f"{DAEMONS.path}/a{DRY}",
                    {"metadata": {"annotations": {NOTE: text}}},
                    MERGE,
                )
                for text in ("x", "12", LONG)
            ),
            Step("PUT", f"{DAEMONS.path}/a{DRY}", noting("x")),
        ],
        managed=False,
    ),
    Case(
        "schedules",
        _created(CRONS.path, [cron(f"{text} * * * *") for text in (*TEXTS, LONGEST) if text]),
        managed=False,
    ),
    Case(
        "masks",
        _created(POLICIES.path, [policy(f"10.0.0.0/{text}") for text in (*TEXTS, LONGEST)]),
        managed=False,
    ),
    Case(
        "queries",
        [
            Step("POST", PODS, pod()),
            *(
                Step("GET", f"{path}={text.replace(' ', '%20').replace('+', '%2B')}")
                for path in (
                    f"{POD}?resourceVersion",
                    f"{PODS}?resourceVersion",
                    f"{POD}/log?tailLines",
                    f"{POD}/log?sinceSeconds",
                    f"{POD}/portforward?ports",
                )
                for text in (*TEXTS, "70000", "80,81", "80,", LONGEST)
                if not (path.endswith("resourceVersion") and text.strip("+0") in ("12", "7"))
            ),
        ],
        managed=False,
    ),
    Case(
        "graces",
        [
            step
            for number, grace in enumerate((60, 2**63 - 1, 10**12, 2**62))
            for step in (
                Step("POST", PODS, pod(nodeName="n", terminationGracePeriodSeconds=grace)),
                Step("DELETE", POD),
                Step("DELETE", f"{POD}?gracePeriodSeconds={30 + number}"),
                Step("DELETE", f"{POD}?gracePeriodSeconds=90"),
                Step("DELETE", f"{POD}?gracePeriodSeconds=0"),
                Step("GET", POD),
            )
        ],
        managed=False,
    ),
    Case(
        "slashes around groups",
        [Step("GET", path) for path in ("/apis//", "//apis", "/apis//apps")],
        managed=False,
    ),
]
