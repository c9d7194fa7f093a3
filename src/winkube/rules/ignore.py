"""Rules that the author of an object does not want to hear about: an annotation lists them."""

import fnmatch
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.rules.model import Finding
from winkube.rules.paths import first
from winkube.rules.subjects import pods_in

ANNOTATION: Final = "winkube.dev/lint-ignore"


def is_ignored_by_object(finding: Finding, value: JsonObject) -> bool:
    """Whether an annotation of the object, or of its pod template, names the rule."""
    if _is_listed(finding.rule.id, first(value, "metadata", "annotations", ANNOTATION)):
        return True
    for subject in pods_in(value):
        steps = ("metadata", "annotations", ANNOTATION)
        if _is_listed(finding.rule.id, first(subject.pod, *steps)):
            return True
    return False


def _is_listed(rule_id: str, annotation: Any) -> bool:
    if not isinstance(annotation, str):
        return False
    return any(fnmatch.fnmatchcase(rule_id, word) for word in annotation.replace(",", " ").split())
