"""Events of the newer group, and what the older one shows of them."""

from typing import Any

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import DRY, merged

EVENTS = "/apis/events.k8s.io/v1/namespaces/{ns}/events"
CORE = "/api/v1/namespaces/{ns}/events"
EVENT = {
    "metadata": {"name": "e"},
    "eventTime": "2020-01-01T00:00:00.000000Z",
    "reportingController": "a/b",
    "reportingInstance": "i",
    "action": "act",
    "reason": "r",
    "note": "n",
    "type": "Normal",
    "regarding": {"kind": "Pod", "name": "p", "namespace": "{ns}"},
}


def _posts(name: str, *rows: dict[str, Any]) -> Case:
    steps = [Step("POST", f"{EVENTS}{DRY}", merged(EVENT, row)) for row in rows]
    return Case(name, steps, managed=False)


CASES = [
    _posts(
        "events",
        {},
        {"metadata": {"name": "E_"}},
        {"eventTime": ...},
        {"reportingController": ""},
        {"reportingController": "a b"},
        {"reportingInstance": ""},
        {"reportingInstance": "x" * 129},
        {"action": ""},
        {"action": "x" * 129},
        {"reason": ""},
        {"reason": "x" * 129},
        {"note": "x" * 1025},
        {"type": ""},
        {"type": "Strange"},
        {"regarding": {"namespace": "other"}},
        {"regarding": {"namespace": ...}},
        {"regarding": ...},
        {"series": {"count": 1, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}},
        {"series": {"count": 2, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}},
        {"series": {"count": 2}},
        {"deprecatedCount": 5},
        {"deprecatedFirstTimestamp": "2020-01-01T00:00:00Z"},
        {"deprecatedLastTimestamp": "2020-01-01T00:00:00Z"},
        {"deprecatedSource": {"component": "c"}},
        {"related": {"kind": "Node", "name": "n"}},
    ),
    Case(
        "an event in both groups",
        [
            Step("POST", EVENTS, EVENT),
            Step("GET", f"{CORE}/e"),
            Step("GET", f"{EVENTS}/e"),
            *(
                Step("PATCH", f"{EVENTS}/e{DRY}", patch, MERGE)
                for patch in (
                    {"series": {"count": 2, "lastObservedTime": "2020-01-02T00:00:00.000000Z"}},
                    {"series": {"count": 1}},
                    {"note": "other"},
                    {"reason": "other"},
                    {"action": "other"},
                    {"type": "Warning"},
                    {"regarding": {"name": "q"}},
                    {"reportingController": "c/d"},
                    {"eventTime": "2021-01-01T00:00:00.000000Z"},
                    {"deprecatedCount": 3},
                    {"metadata": {"labels": {"a": "b"}}},
                )
            ),
            Step("PATCH", f"{CORE}/e", {"count": 3, "message": "other"}, MERGE),
            Step("GET", f"{EVENTS}/e"),
            Step("DELETE", f"{EVENTS}/e"),
            Step("GET", f"{CORE}/e"),
        ],
        watch=[CORE, EVENTS],
        managed=False,
    ),
]
