"""Labels of nodes that have newer names."""

from collections.abc import Iterator
from typing import Any, Final

from winkube.api import names
from winkube.base.types import JsonObject

_OLD: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def label_warning(key: str) -> str | None:
    return _OLD.get(key)


def selector_warnings(labels: Any, path: str) -> Iterator[str]:
    for key in labels or ():
        if key in _OLD:
            yield f"{path}[{key}]: {_OLD[key]}"


def term_warnings(term: JsonObject, path: str, *, check_values: bool) -> Iterator[str]:
    """Of a node selector's term; values are warned of where validation lets them pass."""
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        key, here = expression.get("key") or "", f"{path}.matchExpressions[{index}]"
        if key in _OLD:
            yield f"{here}.key: {key} is {_OLD[key]}"
        if check_values:
            for place, value in enumerate(expression.get("values") or ()):
                for detail in names.label_value_problems(value):
                    yield f"{here}.values[{place}]: {value} is invalid, {detail}"
