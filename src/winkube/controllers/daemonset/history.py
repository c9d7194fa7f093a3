"""The revisions of a DaemonSet: one ControllerRevision per template it has had.

A revision's data is the patch that brings its template back; ``kubectl rollout undo`` applies it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from winkube.api.meta import labels_of, name_of
from winkube.base.types import JsonObject
from winkube.controllers.daemonset.placement import HASH_LABEL
from winkube.controllers.deployment.template import same_template, template_hash
from winkube.controllers.revision import to_revision


@dataclass(frozen=True, slots=True)
class History:
    """``current`` have the template of now (more than one by accident only), ``old`` the others."""

    current: tuple[JsonObject, ...] = ()
    old: tuple[JsonObject, ...] = ()

    @property
    def next_number(self) -> int:
        return max((revision_number(each) for each in self.old), default=0) + 1

    @property
    def kept(self) -> JsonObject | None:
        """Of several current revisions, the one with the highest number."""
        return max(self.current, key=revision_number, default=None)


def revision_number(revision: JsonObject) -> int:
    return int(revision.get("revision") or 0)


def digest_of(revision: JsonObject) -> str:
    return labels_of(revision).get(HASH_LABEL) or name_of(revision)


def is_of(daemon_set: JsonObject, revision: JsonObject) -> bool:
    """Whether the revision has the template of now."""
    saved = ((revision.get("data") or {}).get("spec") or {}).get("template") or {}
    template = {key: value for key, value in saved.items() if key != "$patch"}
    return same_template(template, daemon_set["spec"]["template"])


def sort_history(daemon_set: JsonObject, revisions: Iterable[JsonObject]) -> History:
    listed = [*revisions]
    return History(
        tuple(each for each in listed if is_of(daemon_set, each)),
        tuple(each for each in listed if not is_of(daemon_set, each)),
    )


def new_revision(daemon_set: JsonObject, number: int) -> JsonObject:
    template = daemon_set["spec"]["template"]
    collisions = (daemon_set.get("status") or {}).get("collisionCount")
    digest = template_hash(template, collisions)
    name = f"{name_of(daemon_set)}-{digest}"
    return to_revision(daemon_set, name, (HASH_LABEL, digest), number)


def plan_cleanup(
    daemon_set: JsonObject, old: Iterable[JsonObject], pods: Sequence[JsonObject]
) -> list[JsonObject]:
    """The revisions beyond the limit that no pod has, lowest number first."""
    ordered = sorted(old, key=revision_number)
    surplus = len(ordered) - int(daemon_set["spec"].get("revisionHistoryLimit", 10))
    if surplus <= 0:
        return []
    alive = {labels_of(pod).get(HASH_LABEL) for pod in pods}
    return [each for each in ordered if digest_of(each) not in alive][:surplus]
