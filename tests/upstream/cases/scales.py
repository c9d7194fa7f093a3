"""Scales and who owns them: what is written through a scale is owned in the object it scales."""

from typing import Any

from tests.upstream.cases.found import BY_KIND
from tests.upstream.exchange import APPLY, JSON_PATCH, MERGE, STRATEGIC, Case, Step
from tests.upstream.objects import SAMPLE, Sample
from tests.upstream.variants import DRY

KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
SETS = BY_KIND["ReplicaSet"]
TWICE = "apiVersion: autoscaling/v1\nkind: Scale\nspec: {replicas: 1, replicas: 1}\n"


def scale(replicas: int | None = None, **metadata: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a", "namespace": "{ns}", **metadata},
    }
    return made if replicas is None else {**made, "spec": {"replicas": replicas}}


def applied(sample: Sample, manager: str, body: Any, more: str = "") -> Step:
    return Step("PATCH", f"{sample.item}/scale?fieldManager={manager}{more}", body, APPLY)


def whole(sample: Sample, manager: str, replicas: int | None, more: str = "") -> Step:
    """The object itself, applied with nothing in it but how many."""
    core = sample.path.startswith("/api/")
    body: dict[str, Any] = {
        "apiVersion": "v1" if core else "apps/v1",
        "kind": sample.kind,
        "metadata": {"name": "a"},
    }
    if replicas is not None:
        body["spec"] = {"replicas": replicas}
    return Step("PATCH", f"{sample.item}?fieldManager={manager}{more}", body, APPLY)


def shown(sample: Sample) -> list[Step]:
    return [Step("GET", sample.item), Step("GET", f"{sample.item}/scale")]


def owners(sample: Sample) -> Case:
    part = f"{sample.item}/scale"
    look = shown(sample)
    return Case(
        f"who owns the scale of a {sample.kind}",
        [
            Step("POST", f"{sample.path}?fieldManager=maker", sample.named()),
            # Nothing changes, and still the author's share is told apart.
            Step("PUT", f"{part}?fieldManager=putter", scale(sample.body["spec"]["replicas"])),
            *look,
            Step("PUT", f"{part}?fieldManager=putter", scale(4)),
            *look,
            Step("PATCH", f"{part}?fieldManager=patcher", {"spec": {"replicas": 5}}, MERGE),
            *look,
            Step("PATCH", f"{part}?fieldManager=patcher", {"spec": {"replicas": 5}}, STRATEGIC),
            *look,
            applied(sample, "m", scale(6)),
            applied(sample, "m", scale(5)),
            *look,
            applied(sample, "m", scale(6), "&force=true"),
            *look,
            applied(sample, "n", scale(6)),
            *look,
            applied(sample, "n", scale(7)),
            applied(sample, "n", scale()),
            *look,
            whole(sample, "m", 8),
            whole(sample, "m", 8, "&force=true"),
            *look,
            applied(sample, "m", scale(9)),
            applied(sample, "m", scale(9), "&force=true"),
            *look,
            Step("PATCH", f"{part}?fieldManager=m", {"spec": {"replicas": 2}}, MERGE),
            *look,
            applied(sample, "m", scale()),
            *look,
            Step("PATCH", f"{sample.item}?fieldManager=maker", {"spec": {"replicas": 1}}, MERGE),
            *look,
            applied(sample, "m", scale(3), "&force=true"),
            whole(sample, "m", None),
            *look,
            Step("DELETE", sample.item),
        ],
    )


BODIES: list[Any] = [
    None,
    [],
    "x",
    {},
    {**scale(1), "kind": "ReplicaSet"},
    {**scale(1), "apiVersion": "apps/v1"},
    {**scale(1), "apiVersion": "autoscaling/v2"},
    {**scale(1), "metadata": None},
    {**scale(1), "metadata": {}},
    {**scale(1), "spec": None},
    {**scale(1), "spec": {}},
    {**scale(1), "spec": {"replicas": None}},
    {**scale(1), "spec": {"replicas": "x"}},
    {**scale(1), "spec": {"replicas": 1.5}},
    {**scale(1), "spec": {"replicas": 2**40}},
    {**scale(1), "spec": {"unknown": 1}},
    {**scale(1), "status": {"replicas": 3, "selector": "a"}},
    {**scale(1), "unknown": 1},
    scale(-1),
    scale(0),
    scale(2, name="b"),
    scale(2, namespace="other"),
    scale(2, uid="x"),
    scale(2, resourceVersion="1"),
    scale(2, resourceVersion="x"),
    scale(2, labels={"a b": ""}),
    scale(2, labels={"a": "b"}, annotations={"n": "o"}, finalizers=["a/b"]),
    scale(2, managedFields=[]),
    scale(2, managedFields=[{}]),
    scale(2, managedFields=[{"manager": "x", "operation": "Apply"}]),
]

CASES = [
    *(owners(BY_KIND.get(kind) or SAMPLE[kind]) for kind in KINDS),
    Case(
        "scales nobody can apply",
        [
            applied(SETS, "m", scale(1)),
            Step("POST", SETS.path, SETS.named()),
            *(applied(SETS, "m", body, "&dryRun=All&force=true") for body in BODIES),
            Step("PATCH", f"{SETS.item}/scale", scale(1), APPLY),
            applied(SETS, "", scale(1)),
            applied(SETS, "x" * 129, scale(1)),
            applied(SETS, "m", scale(1), "&fieldValidation=x"),
            applied(SETS, "m", scale(1), "&dryRun=x"),
            applied(SETS, "m", "spec: {replicas: 1}\nspec: {}\n"),
            applied(SETS, "m", "a: b: c"),
            applied(
                SETS,
                "m",
                "apiVersion: autoscaling/v1\nkind: Scale\nspec: {replicas: 1, replicas: 1}\n",
                "&fieldValidation=Strict",
            ),
            applied(
                SETS,
                "m",
                "apiVersion: autoscaling/v1\nkind: Scale\nspec: {replicas: 1, replicas: 1}\n",
            ),
            *shown(SETS),
            Step("DELETE", SETS.item),
        ],
    ),
    Case(
        "scales of what nobody owns",
        [
            Step("POST", SETS.path, SETS.named()),
            Step("PATCH", SETS.item, {"metadata": {"managedFields": [{}]}}, MERGE),
            Step("PUT", f"{SETS.item}/scale?fieldManager=m", scale(4)),
            *shown(SETS),
            applied(SETS, "m", scale(5)),
            applied(SETS, "m", scale(5), "&force=true"),
            *shown(SETS),
            Step("DELETE", SETS.item),
        ],
    ),
    Case(
        "scales written by hand",
        [
            Step("POST", SETS.path, SETS.named()),
            Step("PUT", f"{SETS.item}/scale{DRY}", scale(4, managedFields=[])),
            Step("PUT", f"{SETS.item}/scale", scale(4, managedFields=[{}])),
            *shown(SETS),
            Step("PUT", f"{SETS.item}/scale", {**scale(4), "status": {"replicas": 5}}),
            *shown(SETS),
            Step("PUT", f"{SETS.item}/scale", scale(4, labels={"a": "b"}, finalizers=["a/b"])),
            *shown(SETS),
            Step(
                "PATCH",
                f"{SETS.item}/scale?fieldManager=j",
                [{"op": "replace", "path": "/spec/replicas", "value": 7}],
                JSON_PATCH,
            ),
            *shown(SETS),
            Step("PUT", f"{SETS.item}/scale", scale(0)),
            *shown(SETS),
            Step("PUT", f"{SETS.item}/scale", scale()),
            *shown(SETS),
            Step("PUT", f"{SETS.item}/scale", scale(3, uid="x")),
            Step("DELETE", SETS.item),
        ],
    ),
]
