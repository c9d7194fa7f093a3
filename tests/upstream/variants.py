"""Tables of variants: many bodies that differ in one place, asked one after the other.

A row is what is merged into the base: a mapping replaces the keys it names (``...`` removes one),
anything else replaces the whole. Creations are dry runs, so that rows do not meet each other.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.upstream.exchange import Case, Step

Row = Mapping[str, Any]
DRY = "?dryRun=All"


def merged(base: Any, row: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(row, Mapping):
        return json.loads(json.dumps(row))
    made = dict(base)
    for key, value in row.items():
        if value is ...:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made


def posts(name: str, path: str, bodies: Iterable[Any]) -> Case:
    return Case(name, [Step("POST", f"{path}{DRY}", body) for body in bodies], managed=False)


PODS = "/api/v1/namespaces/{ns}/pods"
CONTAINER = {"name": "c", "image": "i:1"}
POD = {
    "metadata": {"name": "p"},
    "spec": {"automountServiceAccountToken": False, "containers": [CONTAINER]},
}


def pod(spec: Row | None = None, **metadata: Any) -> Any:
    return merged(POD, {"metadata": metadata, "spec": spec or {}})


def container(row: Row, spec: Row | None = None) -> Any:
    """A pod whose only container has ``row``."""
    return pod({"containers": [merged(CONTAINER, row)], **(spec or {})})


def pods(name: str, *rows: Row) -> Case:
    """Pods whose spec has the row."""
    return posts(name, PODS, [pod(row) for row in rows])


def containers(name: str, *rows: Row, spec: Row | None = None) -> Case:
    return posts(name, PODS, [container(row, spec) for row in rows])
