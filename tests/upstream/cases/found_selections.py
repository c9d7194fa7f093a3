"""What requests made at random found about selectors, and options of lists and deletions."""

from typing import Any
from urllib.parse import quote

from tests.upstream.exchange import Case, Step
from tests.upstream.objects import SAMPLES

MAPS = "/api/v1/namespaces/{ns}/configmaps"
LABELS = (
    "app=a,,b", "!app=a", "app in (a,,b)", "app in (,a)", "app in (a,)", "app in (,)",
    "app in (,,)", "app in (,,,a)", "app in (a b)", "app in (a=b)", "app in (a", "app in (=)",
    "app notin a",
    "app in (a,b,c)d", "in in (in,notin)", "notin", "app=in", "app===a", "app=!a", "app>=1",
    "app>99999999999999999999", "app>+1", "app>1x y", "app=é", "é=a", "app=a\u00a0b", "app=\u3000",
    "app\ta", "app\nin\n(a)", "app in (-,_)", "app in (-)", "app>-", "a=b\0,c", "a\0=b", "\0a",
    " \0", "app=%22", "x y/z", "app = a , app", "!  app", "! !app", "app=a)",
    "(", ")", "<", "app<",
)  # fmt: skip
FIELDS = (
    "=", "==", "!=", "=,=", ",", ",,metadata.name=a", "metadata.name=", "metadata.name!=",
    "metadata.name =a", " metadata.name=a", "metadata.name= a", "metadata.name=a=b",
    "metadata.name=a\\=b", "metadata.name=a\\x", "metadata.name=a\\", "metadata.name===a",
    "metadata.name!a=b", "metadata!=name=a", "z=1,b=2", "metadata.name=a,x", "x,metadata.name=a\\x",
    "=a,metadata.name=b", "a=,=", "metadata.name=a\\\\", "é=ü", "\0=a", "metadata.name=\0",
)  # fmt: skip
ASKED = (
    "metadata.name=x", "metadata.namespace=x", "name=x", "type=Opaque", "status.phase=Pending",
    "spec.nodeName=", "spec.host=", "spec.unschedulable=true", "status.replicas=1", "spec.type=x",
    "spec.clusterIP=None", "status.successful=1", "spec.signerName=x", "spec.driver=x",
    "involvedObject.name=x", "regarding.apiVersion=x", "reportingComponent=x", "source=x",
    "reportingController=x", "spec.parentRef.name=x", "status.podIPs=x", "status.podIP=",
)  # fmt: skip
TWICE = (
    "limit=", "limit=+1", "limit=1.5", "limit=9223372036854775808", "limit=%201", "timeoutSeconds=",
    "timeoutSeconds=-1", "limit=x&labelSelector==", "timeoutSeconds=x&limit=y",
    "labelSelector==&fieldSelector=x", "fieldSelector=x&resourceVersionMatch=x",
    "fieldSelector=x%3D1&resourceVersionMatch=x", "fieldSelector=x%3D1&continue=x",
    "resourceVersionMatch=x&continue=x", "continue=x&resourceVersion=1", "continue=x&limit=-1",
    "resourceVersion=x&continue=", "resourceVersion=-1&fieldSelector=x%3D1", "continue=eyJ9",
    "continue=e30", "continue=bnVsbA", "continue=W10", "continue=eA==", "continue=%20",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIifQ",
    "continue=eyJ2IjoieCIsInJ2IjoxLCJzdGFydCI6ImEifQ",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6IngiLCJzdGFydCI6ImEifQ",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9hIn0",
)  # fmt: skip
# Of every sample's kind once, where the list is a namespace's own; elsewhere others are seen too.
PATHS = sorted({sample.path for sample in SAMPLES if "{ns}" in sample.path})
WIDE = sorted({sample.path for sample in SAMPLES if "{ns}" not in sample.path})
_NOBODY = "metadata.name%3Dnobody"


def _quoted(text: str) -> str:
    return quote(text, safe="{}")


BODIES: tuple[Any, ...] = (
    {"dryRun": []}, {"dryRun": [""]}, {"dryRun": ["All", "All"]}, {"dryRun": ["All", "x"]},
    {"dryRun": [1]}, {"dryRun": {}}, {"dryRun": True}, {"dryRun": None},
    {"gracePeriodSeconds": "1"},
    {"gracePeriodSeconds": 1.5}, {"gracePeriodSeconds": 1.0}, {"gracePeriodSeconds": 2**63},
    {"gracePeriodSeconds": []}, {"gracePeriodSeconds": -1}, {"orphanDependents": "true"},
    {"orphanDependents": 1}, {"orphanDependents": None}, {"propagationPolicy": 1},
    {"propagationPolicy": ""}, {"propagationPolicy": None}, {"propagationPolicy": {}},
    {"propagationPolicy": "orphan"}, {"propagationPolicy": "x", "orphanDependents": True},
    {"propagationPolicy": "Orphan", "orphanDependents": False}, {"preconditions": []},
    {"preconditions": {"uid": 1}}, {"preconditions": {"uid": ""}}, {"preconditions": {"uid": None}},
    {"preconditions": {"resourceVersion": ""}}, {"preconditions": {"resourceVersion": "x"}},
    {"preconditions": {"resourceVersion": 1}}, {"preconditions": {"uid": "x", "unknown": 1}},
    {"unknown": 1}, {"kind": "Pod"}, {"kind": "Pod", "apiVersion": "v1"}, {"apiVersion": "x"},
    {"apiVersion": "x/y"}, {"apiVersion": "x/y/z"}, {"kind": 1}, {"kind": "DeleteOptions"},
    {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"},
    {"kind": "DeleteOptions", "apiVersion": "apps/v1"},
    {"kind": "DeleteOptions", "apiVersion": "nobody/v1"}, {"kind": "ListOptions"},
    {"kind": "Status", "apiVersion": "v1"}, {"kind": "DeleteOptions", "apiVersion": "v2"},
    {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
    {"ignoreStoreReadErrorWithClusterBreakingPotential": "x"},
    [], "x", "null", "{", "1", " ", '{"dryRun":["All"],"dryRun":[]}', '{"dryRun":["All"]}{}',
)  # fmt: skip
QUERIES = (
    "dryRun=", "dryRun=all", "dryRun=All&dryRun=x", "dryRun=All&dryRun=All",
    "gracePeriodSeconds=", "gracePeriodSeconds=x", "gracePeriodSeconds=9223372036854775808",
    "gracePeriodSeconds=1.5", "orphanDependents=", "orphanDependents=x", "orphanDependents=0",
    "orphanDependents=FALSE", "propagationPolicy=", "propagationPolicy=x",
    "propagationPolicy=Orphan&orphanDependents=false", "propagationPolicy=x&gracePeriodSeconds=y",
    "uid=x", "uid=", "resourceVersion=x", "resourceVersion=1",
    "ignoreStoreReadErrorWithClusterBreakingPotential=true",
)  # fmt: skip
_ONE = Step("POST", MAPS, {"metadata": {"name": "a", "labels": {"app": "a"}}})
_ALL = f"{MAPS}?labelSelector=app%3Da"

CASES = [
    Case(
        "texts of labels",
        [_ONE, *(Step("GET", f"{MAPS}?labelSelector={_quoted(text)}") for text in LABELS)],
    ),
    Case(
        "texts of fields",
        [_ONE, *(Step("GET", f"{MAPS}?fieldSelector={_quoted(text)}") for text in FIELDS)],
    ),
    Case(
        "fields of kinds",
        [Step("GET", f"{path}?fieldSelector={quote(text)}") for path in PATHS for text in ASKED],
    ),
    Case(
        "fields of kinds of no namespace",
        [
            Step("GET", f"{path}?fieldSelector={_NOBODY},{quote(text)}")
            for path in WIDE
            for text in ASKED
        ],
    ),
    Case("several faults", [Step("GET", f"{MAPS}?{query}") for query in TWICE]),
    Case(
        "deletion bodies",
        [
            _ONE,
            *(
                Step("DELETE", f"{MAPS}/a", {**body, "dryRun": body.get("dryRun", ["All"])})
                if isinstance(body, dict)
                else Step("DELETE", f"{MAPS}/none", body)
                for body in BODIES
                if not isinstance(body, dict) or body.get("dryRun", ["All"])
            ),
        ],
    ),
    Case(
        "deletion queries",
        [_ONE, *(Step("DELETE", f"{MAPS}/a?{query}&dryRun=All") for query in QUERIES)],
    ),
    Case(
        "deletions of many",
        [
            _ONE,
            *(Step("DELETE", f"{_ALL}&{query}&dryRun=All") for query in (*QUERIES, *TWICE)),
            *(
                Step("DELETE", _ALL, {**body, "dryRun": body.get("dryRun", ["All"])})
                if isinstance(body, dict)
                else Step("DELETE", f"{MAPS}?labelSelector=none", body)
                for body in BODIES
                if not isinstance(body, dict) or body.get("dryRun", ["All"])
            ),
            Step("DELETE", f"{_ALL}&fieldSelector=x%3D1", {"dryRun": ["x"]}),
            Step("DELETE", f"{_ALL}&limit=x", {"dryRun": ["x"]}),
        ],
    ),
]
