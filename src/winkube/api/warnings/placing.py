"""Kinds that name nodes by labels: storage classes, storage capacities, runtime classes."""

from collections.abc import Iterator

from winkube.api.warnings.labels import label_warning, term_warnings
from winkube.base.types import JsonObject


def storage_class_warnings(obj: JsonObject) -> Iterator[str]:
    for index, term in enumerate(obj.get("allowedTopologies") or ()):
        for place, expression in enumerate(term.get("matchLabelExpressions") or ()):
            text = label_warning(expression.get("key") or "")
            if text is not None:
                yield f"allowedTopologies[{index}].matchLabelExpressions[{place}].key: {text}"


def capacity_warnings(obj: JsonObject) -> Iterator[str]:
    topology = obj.get("nodeTopology") or {}
    yield from term_warnings(topology, "nodeTopology", check_values=False)
    for key in topology.get("matchLabels") or ():
        text = label_warning(key)
        if text is not None:
            yield f"nodeTopology.matchLabels.{key}: {text}"


def runtime_class_warnings(obj: JsonObject) -> Iterator[str]:
    for key in (obj.get("scheduling") or {}).get("nodeSelector") or ():
        text = label_warning(key)
        if text is not None:
            yield f"scheduling.nodeSelector: {text}"
