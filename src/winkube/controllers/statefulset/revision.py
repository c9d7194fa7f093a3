"""The history of a set's pod template, kept as ControllerRevisions.

A revision's data is the patch that makes the template what it was. Its name ends in a hash of that
patch, so the same template has the same name wherever it is computed.
"""

import copy
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from winkube.api.meta import name_of
from winkube.base.ids import SUFFIX_ALPHABET
from winkube.base.types import JsonObject
from winkube.controllers.revision import to_revision, to_template_patch
from winkube.controllers.statefulset.identity import revision_of

_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193
_PREFIX_LIMIT: Final = 223
# What a revision is found by; its pods carry its name under another key.
HASH: Final = "controller.kubernetes.io/hash"
# Go's JSON writes these so that they are safe in HTML.
_ESCAPES: Final = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def data_of(stateful_set: JsonObject) -> JsonObject:
    return to_template_patch(stateful_set["spec"]["template"])


def hash_of(data: JsonObject, collisions: int) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    value = _FNV_OFFSET
    for byte in text.translate(_ESCAPES).encode() + str(collisions).encode():
        value = ((value * _FNV_PRIME) & 0xFFFFFFFF) ^ byte
    return "".join(SUFFIX_ALPHABET[ord(c) % len(SUFFIX_ALPHABET)] for c in str(value))


def new_revision(stateful_set: JsonObject, number: int, collisions: int) -> JsonObject:
    digest = hash_of(data_of(stateful_set), collisions)
    name = f"{name_of(stateful_set)[:_PREFIX_LIMIT]}-{digest}"
    return to_revision(stateful_set, name, (HASH, digest), number)


def template_of(revision: JsonObject) -> JsonObject:
    template: JsonObject = copy.deepcopy(revision["data"]["spec"]["template"])
    template.pop("$patch", None)
    return template


def by_number(revisions: Iterable[JsonObject]) -> list[JsonObject]:
    """Oldest first."""

    def rank(revision: JsonObject) -> tuple[int, str, str]:
        created = revision["metadata"].get("creationTimestamp") or ""
        return int(revision.get("revision") or 0), created, name_of(revision)

    return sorted(revisions, key=rank)


@dataclass(frozen=True, slots=True)
class RevisionPlan:
    """Either ``update`` exists, or it is to be created, or its number is to be raised."""

    update: JsonObject
    create: bool = False
    raise_to: int | None = None


def plan_revision(
    stateful_set: JsonObject, revisions: Sequence[JsonObject], collisions: int
) -> RevisionPlan:
    """``revisions`` are sorted. A template seen before gets its old revision back."""
    last = int(revisions[-1].get("revision") or 0) if revisions else 0
    wanted = new_revision(stateful_set, last + 1, collisions)
    equal = [each for each in revisions if same_data(each, wanted)]
    if not equal:
        return RevisionPlan(wanted, create=True)
    if same_data(revisions[-1], equal[-1]):
        return RevisionPlan(revisions[-1])
    return RevisionPlan(equal[-1], raise_to=last + 1)


def same_data(one: JsonObject, other: JsonObject) -> bool:
    return bool(_filled(one.get("data")) == _filled(other.get("data")))


def _filled(value: Any) -> Any:
    """Absent and empty are the same template."""
    if isinstance(value, dict):
        found = {key: _filled(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item not in (None, {}, [])}
    if isinstance(value, list):
        return [_filled(item) for item in value]
    return value


def plan_history(
    stateful_set: JsonObject,
    revisions: Sequence[JsonObject],
    pods: Iterable[JsonObject],
    used: Collection[str],
) -> list[JsonObject]:
    """The revisions to forget: beyond the limit, oldest first, and no pod's."""
    limit = stateful_set["spec"].get("revisionHistoryLimit")
    live = {*used, *(revision_of(pod) for pod in pods)}
    idle = [each for each in revisions if name_of(each) not in live]
    limit = 10 if limit is None else int(limit)
    return idle[: max(0, len(idle) - limit)] if limit >= 0 else []
