"""Times as clients write them: zones, fractions and odd forms."""

from tests.upstream.exchange import Case, Step
from tests.upstream.variants import DRY

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
EVENTS = "/api/v1/namespaces/{ns}/events"
TEXTS = (
    "2020-01-01T00:00:00Z", "2020-01-01T02:00:00+02:00", "2020-01-01T00:00:00-00:00",
    "2020-01-01T00:00:00.5Z", "2020-01-01T00:00:00.123456789Z", "2020-01-01T00:00:00.999999999Z",
    "2020-01-01T00:00:00,5Z", "2020-01-01T00:00:00z", "2020-01-01t00:00:00Z", "2020-01-01",
    "2020-01-01 00:00:00Z", "2020-01-01T00:00:00", "2020-01-01T00:00:00+0200", "2020-1-1T0:0:0Z",
    "2020-01-01T00:00:00+23:59", "2020-01-01T23:59:59.9-23:59",
    "0000-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "1e3", " ", "",
    "2020-01-01T00:00:00.Z", "2020-01-01T00:00:00.000000Z", "2020-01-01T00:00:00.000001+01:00",
    "2020-01-01T00:00:00Z ", "null",
)  # fmt: skip
ODD: tuple[object, ...] = (None, 0, 1.5, True, [], {})


def event(time: object) -> Step:
    about = {"kind": "Pod", "name": "p", "namespace": "{ns}"}
    body = {"metadata": {"name": "e"}, "involvedObject": about, "firstTimestamp": time}
    return Step("POST", f"{EVENTS}{DRY}", body)


def lease(time: object) -> Step:
    return Step("POST", f"{LEASES}{DRY}", {"metadata": {"name": "l"}, "spec": {"renewTime": time}})


CASES = [
    Case("of seconds", [event(time) for time in (*TEXTS, *ODD)], managed=False),
    Case("of microseconds", [lease(time) for time in (*TEXTS, *ODD)], managed=False),
]
