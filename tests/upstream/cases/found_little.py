"""Found by random requests: small words about nothing, truth that is no number, and parts."""

from typing import Any

from tests.upstream.cases.every_kind import TABLE
from tests.upstream.exchange import APPLY, MERGE, Case, Step
from tests.upstream.objects import SAMPLE, SELECTOR, TEMPLATE
from tests.upstream.variants import DRY, PODS

Json = Any
SETS = "/apis/apps/v1/namespaces/{ns}/replicasets"
QUOTA = "/api/v1/namespaces/{ns}/resourcequotas/q"
BUDGET = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/b"
STATUS = "/api/v1/namespaces/{ns}/status"
# Kinds that upstream shows with a printer of its own, and those that it does not.
SHOWN = (
    *(f"/api/v1/namespaces/{{ns}}/{plural}" for plural in ("limitranges", "podtemplates")),
    *(SAMPLE[kind].path for kind in ("Role", "RoleBinding", "CSIStorageCapacity", "Lease")),
    f"{SAMPLE['ClusterRole'].path}?labelSelector=none%3D{{ns}}",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?labelSelector=none%3D{ns}",
)


def resized(containers: Json, **spec: Json) -> Json:
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def container(**more: Json) -> Json:
    return {"name": "c", "image": "i:1", **more}


def resources(**listed: str) -> Json:
    return {"requests": {"cpu": "1"}, "limits": {"example.com/x": "1", "cpu": "1", **listed}}


def scale(*owners: Json) -> Json:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a", "namespace": "{ns}", "ownerReferences": list(owners)},
        "spec": {"replicas": 1},
    }


def phase(text: str) -> Step:
    return Step("PATCH", STATUS, {"status": {"phase": text}}, MERGE)


def budget(value: Json) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"maxUnavailable": value, "selector": SELECTOR},
    }


def applied(path: str, manager: str, body: Json, more: str = "") -> Step:
    return Step("PATCH", f"{path}?fieldManager={manager}{more}", body, APPLY)


def quota(**more: Json) -> Json:
    head = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    return {**head, "spec": {"hard": {"pods": "1"}}, **more}


def tolerant(effect: str) -> Json:
    toleration = {"key": "k", "operator": "Exists", "tolerationSeconds": 1, "effect": effect}
    return {
        "metadata": {"name": "t"},
        "spec": {"containers": [container()], "tolerations": [toleration]},
    }


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
RESTART = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
CASES = [
    Case("rows of nothing", [Step("GET", path, headers=TABLE) for path in SHOWN]),
    Case(
        "resizes that are none",
        [
            Step("POST", PODS, resized([container(resources=resources())])),
            *(
                Step("PUT", f"{PODS}/p/resize{DRY}", body)
                for body in (
                    resized([]),
                    resized([container(), container(name="d")]),
                    {"metadata": {"name": "p", "labels": {"a": "-"}}, "spec": {"hostUsers": True}},
                    resized([container(resources=resources(), resizePolicy=RESTART)]),
                    resized([container(resources=resources(), resizePolicy=[{}])]),
                    resized([container(resources=resources(), resizePolicy=[])]),
                    resized([container(resources=resources(**{"example.com/x": "2"}))]),
                    resized([container(resources=resources(cpu="2"))]),
                    resized([container(name="d")]),
                    resized([container(resources={"limits": {"cpu": "1"}})]),
                )
            ),
        ],
        managed=False,
    ),
    Case(
        "owners that a scale names twice",
        [
            Step(
                "POST",
                SETS,
                {"metadata": {"name": "a"}, "spec": {"selector": SELECTOR, "template": TEMPLATE}},
            ),
            *(
                step
                for owners in ((OWNER, OWNER), ({}, {}), (OWNER, {**OWNER, "uid": "v"}))
                for step in (
                    Step("PUT", f"{SETS}/a/scale{DRY}", scale(*owners)),
                    Step("PATCH", f"{SETS}/a/scale{DRY}", scale(*owners), MERGE),
                )
            ),
        ],
        managed=False,
    ),
    Case("phases of a namespace", [phase("\u200b"), phase("\u0000"), phase(""), phase("Gone")]),
    Case(
        "truth is no number",
        [
            applied(BUDGET, "a", budget(1)),
            applied(BUDGET, "b", budget(True)),
            applied(BUDGET, "c", budget("1")),
            applied(BUDGET, "d", budget(1.0)),
        ],
    ),
    Case(
        "null where there is nothing",
        [
            applied(QUOTA, "a", quota()),
            applied(QUOTA, "b", quota(status=None)),
            applied(QUOTA, "c", quota(status={})),
            applied(QUOTA, "d", quota(spec={"hard": None})),
        ],
    ),
    Case(
        "effects with seconds",
        [Step("POST", f"{PODS}{DRY}", tolerant(text)) for text in ("\u0000", "", "\u200b", "x")],
        managed=False,
    ),
]
