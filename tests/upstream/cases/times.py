"""Times at the edges of the calendar: what is taken here is read by every component."""

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import PODS, pod

TIMES = [
    "2024-02-29T00:00:00Z",
    "2023-02-29T00:00:00Z",
    "2024-02-31T00:00:00Z",
    "2024-04-31T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2000-02-29T00:00:00Z",
    "2024-01-00T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "0000-02-29T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "2024-01-01T00:00:60Z",
    "2024-01-01T24:00:00Z",
]
CASES = [
    Case(
        "of a pod's start",
        [
            Step("POST", PODS, pod()),
            *(
                Step("PATCH", f"{PODS}/p/status", {"status": {"startTime": time}}, MERGE)
                for time in TIMES
            ),
        ],
        managed=False,
    )
]
