"""Lists and watches: selectors, pages, resource versions, what a watch says."""

from urllib.parse import quote

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.objects import SAMPLES

MAPS = "/api/v1/namespaces/{ns}/configmaps"


def labelled(name: str, **labels: str) -> Step:
    return Step("POST", MAPS, {"metadata": {"name": name, "labels": labels}})


THREE = [labelled("a", on="1", tier="x"), labelled("b", on="2"), labelled("c", tier="5")]
LABELS = (
    "on",
    "!on",
    "on=1",
    "on==1",
    "on!=1",
    "on in (1,2)",
    "on notin (1)",
    "on in ()",
    "on in (",
    "on in 1",
    "on=",
    "=1",
    "on=1,",
    ",on",
    "on=1,tier",
    "on =1",
    "tier>3",
    "tier<3",
    "tier>x",
    "on,,tier",
    "on=a b",
    "on=-",
    "-=1",
    "a/b/c=1",
    "on=1;tier",
    "!",
    "!!on",
    "on exists",
    "(on)",
    "x" * 64,
    "on=" + "x" * 64,
)
FIELDS = (
    "metadata.name=a",
    "metadata.name!=a",
    "metadata.name==a",
    "metadata.namespace={ns}",
    "metadata.name=a,metadata.name=b",
    "metadata.name",
    "=a",
    "metadata.uid=1",
    "data.a=1",
    "status.phase=Running",
    "metadata.name=a\\,b",
    "metadata.name=a,",
    "x",
)
KINDS = sorted({sample.path for sample in SAMPLES})
ASKED = (
    "metadata.name=none",
    "metadata.namespace=none",
    "spec.nodeName=none",
    "status.phase=none",
    "spec.x=none",
)

CASES = [
    Case(
        "label selectors",
        [*THREE, *(Step("GET", f"{MAPS}?labelSelector={quote(text)}") for text in LABELS)],
        managed=False,
    ),
    Case(
        "field selectors",
        [
            *THREE,
            *(Step("GET", f"{MAPS}?fieldSelector={quote(text, safe='{}')}") for text in FIELDS),
        ],
        managed=False,
    ),
    Case(
        "fields that each kind can be selected by",
        [Step("GET", f"{path}?fieldSelector={field}") for path in KINDS for field in ASKED[2:]],
    ),
    Case(
        "pages",
        [
            *THREE,
            Step("GET", f"{MAPS}?limit=2"),
            Step("GET", f"{MAPS}?limit=0"),
            Step("GET", f"{MAPS}?limit=-1"),
            Step("GET", f"{MAPS}?limit=x"),
            Step("GET", f"{MAPS}?continue=x"),
            Step("GET", f"{MAPS}?limit=2&labelSelector=tier"),
            Step("GET", f"{MAPS}?continue=x&resourceVersion=5"),
        ],
        managed=False,
    ),
    Case(
        "resource versions",
        [
            *THREE,
            Step("GET", f"{MAPS}?resourceVersion=0"),
            Step("GET", f"{MAPS}?resourceVersion=x"),
            Step("GET", f"{MAPS}?resourceVersion=-1"),
            Step("GET", f"{MAPS}?resourceVersionMatch=Exact"),
            Step("GET", f"{MAPS}?resourceVersionMatch=NotOlderThan"),
            Step("GET", f"{MAPS}?resourceVersionMatch=Other&resourceVersion=1"),
            Step("GET", f"{MAPS}?resourceVersion=0&resourceVersionMatch=Exact"),
            Step("GET", f"{MAPS}?resourceVersion=0&resourceVersionMatch=NotOlderThan"),
            Step("GET", f"{MAPS}?sendInitialEvents=true"),
            Step("GET", f"{MAPS}?watch=1&sendInitialEvents=true&timeoutSeconds=1"),
            Step("GET", f"{MAPS}?watch=1&sendInitialEvents=false&timeoutSeconds=1"),
            Step("GET", f"{MAPS}?watch=1&resourceVersion=x&timeoutSeconds=1"),
            Step(
                "GET",
                f"{MAPS}?watch=1&resourceVersionMatch=Exact&resourceVersion=1&timeoutSeconds=1",
            ),
            Step("GET", f"{MAPS}?watch=1&timeoutSeconds=x"),
            Step("GET", f"{MAPS}?allowWatchBookmarks=x"),
        ],
        managed=False,
    ),
    Case(
        "objects that leave a selection",
        [
            labelled("a", on="1"),
            labelled("b", on="2"),
            Step("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"on": "2"}}}, MERGE),
            Step("PATCH", f"{MAPS}/b", {"metadata": {"labels": {"on": "1"}}}, MERGE),
            Step("PATCH", f"{MAPS}/b", {"data": {"a": "b"}}, MERGE),
            Step("DELETE", f"{MAPS}/a"),
            Step("DELETE", f"{MAPS}/b"),
        ],
        watch=[f"{MAPS}?labelSelector=on%3D1", f"{MAPS}?fieldSelector=metadata.name%3Da", MAPS],
    ),
]
