"""Random requests about more than a whole object: its parts, its owners, and lists of it."""

import random
from typing import Any, Final
from urllib.parse import quote

from tests.upstream.exchange import APPLY, JSON_PATCH, MERGE, STRATEGIC, Step
from tests.upstream.mutation import (
    complete,
    kind_at,
    mutate,
    operations,
    random_value,
)
from tests.upstream.objects import Sample
from tests.upstream.variants import DRY

from winkube.api.kinds import KINDS
from winkube.api.schema import Schema

Json = Any
Gvk = tuple[str, str, str]
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_PARTIAL: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def part_steps(choose: random.Random, schema: Schema, sample: Sample, count: int) -> list[Step]:
    """The object is there all the time; only what two managers apply changes it."""
    steps = [Step("POST", sample.path, complete(sample))]
    for _ in range(count):
        steps += _status(choose, schema, sample)
        steps += _scale(choose, schema, sample)
        steps += _of_kind(choose, schema, sample)
        steps += _applied(choose, schema, sample)
        steps += _asked(choose, sample)
        steps += _with_options(choose, schema, sample)
    return [*steps, Step("DELETE", f"{sample.item}?gracePeriodSeconds=0")]


def _writes(choose: random.Random, schema: Schema, path: str, gvk: Gvk, good: Json) -> list[Step]:
    """Of every way to write one, made wrong."""
    where, owned = f"{path}{DRY}", f"{path}{DRY}&fieldManager=m&force=true"
    return [
        Step("PUT", where, mutate(choose, schema, gvk, good)),
        Step("PATCH", where, mutate(choose, schema, gvk, good), MERGE),
        Step("PATCH", where, mutate(choose, schema, gvk, good), STRATEGIC),
        Step("PATCH", where, operations(choose, schema, gvk, good), JSON_PATCH),
        Step("PATCH", owned, mutate(choose, schema, gvk, good), APPLY),
    ]


def _status(choose: random.Random, schema: Schema, sample: Sample) -> list[Step]:
    gvk = kind_at(sample)
    kind = KINDS.by_gvk(*gvk)
    definition = schema.for_kind(gvk)
    if kind is None or definition is None or "status" not in kind.subresources:
        return []
    status = sample.status or random_value(choose, definition.properties.get("status"))
    return _writes(
        choose, schema, f"{sample.item}/status", gvk, {**complete(sample), "status": status}
    )


def _scale(choose: random.Random, schema: Schema, sample: Sample) -> list[Step]:
    kind = KINDS.by_gvk(*kind_at(sample))
    if kind is None or "scale" not in kind.subresources:
        return []
    good = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": sample.called, "namespace": "{ns}"},
        "spec": {"replicas": choose.choice((0, 1, 3))},
    }
    return _writes(choose, schema, f"{sample.item}/scale", ("autoscaling", "v1", "Scale"), good)


_POSTED: Final[dict[str, tuple[tuple[str, str, Json], ...]]] = {
    "Pod": (
        ("eviction", "policy/v1 Eviction", {"deleteOptions": {"gracePeriodSeconds": 5}}),
        ("binding", "v1 Binding", {"target": {"kind": "Node", "name": "n"}}),
    ),
    "ServiceAccount": (
        (
            "token",
            "authentication.k8s.io/v1 TokenRequest",
            {"spec": {"audiences": ["a"], "expirationSeconds": 700}},
        ),
    ),
}


def _of_kind(choose: random.Random, schema: Schema, sample: Sample) -> list[Step]:
    kind = sample.kind.split()[0]
    steps = []
    for part, typed, body in _POSTED.get(kind, ()):
        version, name = typed.split()
        good = {
            "apiVersion": version,
            "kind": name,
            "metadata": {"name": sample.called, "namespace": "{ns}"},
            **body,
        }
        group, _, number = version.rpartition("/")
        bad = mutate(choose, schema, (group, number, name), good)
        steps.append(Step("POST", f"{sample.item}/{part}{DRY}", bad))
    if kind == "Pod":
        steps += _pod_parts(choose, schema, sample)
    return steps


def _pod_parts(choose: random.Random, schema: Schema, sample: Sample) -> list[Step]:
    good = complete(sample)
    debug = {"name": "debug", "image": "i:1", "targetContainerName": "c", "tty": True}
    debugged = {**good, "spec": {**good["spec"], "ephemeralContainers": [debug]}}
    gvk = kind_at(sample)
    return [
        *_writes(choose, schema, f"{sample.item}/ephemeralcontainers", gvk, debugged),
        *_writes(choose, schema, f"{sample.item}/resize", gvk, good),
    ]


def _applied(choose: random.Random, schema: Schema, sample: Sample) -> list[Step]:
    """Two managers apply what they want of it, with and without force; this is kept."""
    gvk, good = kind_at(sample), complete(sample)
    steps = []
    for manager in choose.sample(("a", "b", "c"), 2):
        wanted = _thinned(choose, mutate(choose, schema, gvk, good))
        force = choose.choice(("", "&force=true", "&force=false"))
        steps.append(Step("PATCH", f"{sample.item}?fieldManager={manager}{force}", wanted, APPLY))
        # What one request kept must not make the next one hopeless.
        steps.append(Step("PATCH", f"{sample.item}?fieldManager=z&force=true", good, APPLY))
    return steps


def _thinned(choose: random.Random, body: Json) -> Json:
    """With some of its fields left out, which gives them up."""
    if isinstance(body, dict):
        return {
            key: _thinned(choose, child)
            for key, child in body.items()
            if key in ("apiVersion", "kind", "metadata", "spec", "name") or choose.random() < 0.8
        }
    return [_thinned(choose, child) for child in body] if isinstance(body, list) else body


_LABELS: Final = (
    "app=a", "app==a", "app!=a", "app in (a,b)", "app notin (a)", "app", "!app", "app=a,tier",
    "app in (", "=", "a b", "app=a b", "app>1", "app<x", "x/y/z", "app in ()", ",", "app=",
)  # fmt: skip
_FIELDS: Final = (
    "metadata.name=a", "metadata.name!=a", "metadata.namespace={ns}", "metadata.name",
    "status.phase=Pending", "spec.nodeName=", "type=Opaque", "spec.x=1", "metadata.name=a\\,b",
    "metadata.name=a,metadata.name=b", "=", "metadata.labels=a", "spec.unschedulable=true",
)  # fmt: skip


def _asked(choose: random.Random, sample: Sample) -> list[Step]:
    steps = []
    for accept in choose.sample(("application/json", _TABLE, _PARTIAL), 2):
        query = _query(
            choose,
            labelSelector=_LABELS,
            fieldSelector=_FIELDS,
            limit=("1", "0", "-1", "x", "500"),
            resourceVersion=("0", "x", "-1"),
            resourceVersionMatch=("NotOlderThan", "Exact", "x"),
            timeoutSeconds=("1", "x"),
            includeObject=("None", "Object", "Metadata", "x"),
            **{"continue": ("x", "")},
        )
        if "{ns}" in sample.path:  # in the whole cluster there is what servers make themselves
            steps.append(Step("GET", f"{sample.path}?{query}", headers={"Accept": accept}))
        steps.append(Step("GET", f"{sample.item}?{query}", headers={"Accept": accept}))
    return steps


def _query(choose: random.Random, **options: tuple[str, ...]) -> str:
    names = choose.sample(sorted(options), choose.choice((0, 1, 1, 2)))
    return "&".join(f"{name}={quote(choose.choice(options[name]), safe='{}')}" for name in names)


def _with_options(choose: random.Random, schema: Schema, sample: Sample) -> list[Step]:
    """Writes that say how they want to be read; none is kept."""
    gvk, good = kind_at(sample), complete(sample)
    steps = []
    for verb, path, media in (
        ("POST", sample.path, ""),
        ("PUT", sample.item, ""),
        ("PATCH", sample.item, MERGE),
        ("PATCH", sample.item, APPLY),
    ):
        query = _query(
            choose,
            fieldValidation=("Strict", "Warn", "Ignore", "x", "strict"),
            fieldManager=("a", "x" * 129, "\u200b", ""),
            force=("true", "false", "x"),
            pretty=("true", "false"),
        )
        bad = mutate(choose, schema, gvk, good)
        step = f"{path}{DRY}&{query}"
        steps.append(Step(verb, step, bad, media) if media else Step(verb, step, bad))
    options = choose.choice(({"dryRun": ["All"]}, {"dryRun": ["x"]}, {"dryRun": "All"}))
    policy = {"propagationPolicy": choose.choice(("Orphan", "Foreground", "Background", "x"))}
    return [*steps, Step("DELETE", f"{sample.item}{DRY}", {**options, **policy})]
