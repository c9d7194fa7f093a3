"""Who is told what: a request to write a pod or a template, and the answer to it.

Who is warned. The one who wrote the object: not kubelets, controllers and other parts of the
system, and not about objects that a controller owns, whose owner was judged when it was written.
What is changed. Pods when they are created, by whomever; templates stay as their authors wrote
them, so that no tool that compares them with a repository sees a difference. Only a DaemonSet's
template is changed too: its controller decides by it which nodes get a pod.
What is refused. Pods when they are created, by whomever, and templates when they change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from winkube.api.patch import json_patch
from winkube.base.types import JsonObject
from winkube.rules.admission.cluster import Cluster, World
from winkube.rules.admission.judge import NOTHING_SAID, Judge, Verdict
from winkube.rules.admission.memory import Memory, key_of
from winkube.rules.admission.mode import Mode, unknown_mode
from winkube.rules.admission.place import Operation, plan_placing
from winkube.rules.admission.written import as_written
from winkube.rules.paths import first
from winkube.rules.placement import BUILD_LABEL, meant_for
from winkube.rules.subjects import Subject, pods_in

PODS: Final = "pods"
DAEMON_SETS: Final = "daemonsets.apps"
NAMESPACES: Final = "namespaces"
TEMPLATES: Final[Mapping[str, str]] = {
    "replicationcontrollers": "ReplicationController",
    "podtemplates": "PodTemplate",
    "replicasets.apps": "ReplicaSet",
    "deployments.apps": "Deployment",
    "statefulsets.apps": "StatefulSet",
    DAEMON_SETS: "DaemonSet",
    "jobs.batch": "Job",
    "cronjobs.batch": "CronJob",
}
ABOUT: Final = frozenset({PODS, NAMESPACES, *TEMPLATES})
_SYSTEM: Final = "system:"
_ACCOUNT: Final = "system:serviceaccount:"
_SYSTEM_ACCOUNT: Final = "system:serviceaccount:kube-system:"
# The administrator of some distributions.
_PERSONS: Final = frozenset({"system:admin"})
_MIRROR: Final = "kubernetes.io/config.mirror"


@dataclass(frozen=True, slots=True)
class Question:
    """``resource`` is plural and group, as in ``deployments.apps``."""

    operation: str
    resource: str
    user: str
    obj: JsonObject
    old: JsonObject | None = None
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Opinion:
    warnings: Sequence[str] = ()
    refusal: str = ""


_NOTHING: Final = Opinion()
# Clusters of the last moments: nodes come and go.
_MOST_BENCHES: Final = 8


class _Bench:
    """A judge with what it has said."""

    def __init__(self, cluster: Cluster) -> None:
        self.judge = Judge(cluster)
        # By the whole text, which is quick; and by what counts, where a token volume's name or a
        # default is all that differs.
        self.asked: Memory[Verdict] = Memory()
        self.verdicts: Memory[Verdict] = Memory()
        self.plans: Memory[tuple[Operation, ...]] = Memory()

    def hear(self, written: JsonObject, classes: Mapping[str, JsonObject]) -> Verdict:
        return self.verdicts.recall(
            key_of(written, classes), lambda: self.judge.judge(written, classes)
        )


class WindowsAdmission:
    def __init__(self, world: World) -> None:
        self._world = world
        self._benches: dict[Cluster, _Bench] = {}

    def changes(self, question: Question) -> Sequence[Operation]:
        """What a namespace that mutates adds; the values are shared: do not change them."""
        if question.subresource or not _is_changed(question):
            return ()
        subject = _subject(question)
        if subject is None or not self._is_windows(subject):
            return ()
        _, classes, key = self._asked(question, subject)
        bench = self._bench(subject, self._world.cluster())
        return bench.plans.recall(key, lambda: tuple(plan_placing(subject, bench.judge, classes)))

    def opinion(self, question: Question, mode: Mode) -> Opinion:
        if question.subresource or question.operation not in ("CREATE", "UPDATE"):
            return _NOTHING
        if question.resource == NAMESPACES:
            return _of_namespace(question)
        is_told = mode.warns and is_person(question.user) and not _is_owned(question.obj)
        # Where no Windows node is, warnings would be about nothing.
        is_told = is_told and (mode.enforces or self._world.cluster().has_windows)
        if not is_told and not (mode.enforces and _is_enforced(question)):
            return _NOTHING
        subject = _subject(question)
        if subject is None or not _is_news(question, subject):
            return _NOTHING
        verdict = self._verdict(question, subject, mode)
        if mode.enforces and verdict.errors and _is_enforced(question):
            return Opinion((), "the Windows rules refuse it: " + " | ".join(verdict.errors))
        return Opinion(verdict.warnings if is_told else ())

    def _verdict(self, question: Question, subject: Subject, mode: Mode) -> Verdict:
        cluster = self._world.cluster()
        if mode.mutates and question.resource != PODS:
            if not self._is_windows(subject):
                return NOTHING_SAID
            question, subject = self._placed(question, subject)
        document, classes, key = self._asked(question, subject)
        bench = self._bench(subject, cluster)

        def hear() -> Verdict:
            if not self._is_windows(subject):
                return NOTHING_SAID
            return bench.hear(as_written(document, subject), classes)

        return bench.asked.recall(key, hear)

    def _placed(self, question: Question, subject: Subject) -> tuple[Question, Subject]:
        """A template as its pods will be."""
        bench = self._bench(subject, self._world.cluster())
        operations = plan_placing(subject, bench.judge, self._world.runtime_classes)
        if not operations:
            return question, subject
        obj = json_patch(question.obj, operations)
        return replace(question, obj=obj), next(pods_in(obj))

    def _is_windows(self, subject: Subject) -> bool:
        return meant_for(subject.pod["spec"], self._world.runtime_classes) == "windows"

    def _asked(
        self, question: Question, subject: Subject
    ) -> tuple[JsonObject, Mapping[str, JsonObject], bytes]:
        """What is asked about, the RuntimeClass it names, and both as a key."""
        # A request for a pod need not say that it is one.
        document = question.obj if question.resource != PODS else {**question.obj, "kind": "Pod"}
        name, known = subject.pod["spec"].get("runtimeClassName"), self._world.runtime_classes
        classes = {name: known[name]} if isinstance(name, str) and name in known else {}
        return document, classes, key_of(document, classes)

    def _bench(self, subject: Subject, cluster: Cluster) -> _Bench:
        build = first(subject.pod, "spec", "nodeSelector", BUILD_LABEL)
        if build is not None:
            cluster = cluster.narrowed(str(build))
        bench = self._benches.get(cluster)
        if bench is None:
            if len(self._benches) >= _MOST_BENCHES:
                self._benches.clear()
            bench = self._benches[cluster] = _Bench(cluster)
        return bench


def is_person(user: str) -> bool:
    """Whether somebody reads the answer: a person, or a tool that deploys for one."""
    if not user.startswith(_SYSTEM) or user in _PERSONS:
        return True
    return user.startswith(_ACCOUNT) and not user.startswith(_SYSTEM_ACCOUNT)


def _is_changed(question: Question) -> bool:
    if _is_mirror(question.obj):
        return False
    if question.resource == PODS:
        return question.operation == "CREATE"
    if question.resource != DAEMON_SETS or not is_person(question.user):
        return False
    return question.operation in ("CREATE", "UPDATE")


def _is_enforced(question: Question) -> bool:
    if question.resource == PODS:
        return not _is_mirror(question.obj)
    return not _is_owned(question.obj)


def _is_news(question: Question, subject: Subject) -> bool:
    """A template that stays as it is was judged before; pods do not change in what counts here."""
    if question.operation == "CREATE":
        return True
    return question.resource != PODS and first(question.old, *subject.base) != subject.pod


def _subject(question: Question) -> Subject | None:
    obj = question.obj
    if question.resource == PODS:
        # Without the detour over kinds: this is asked for every pod.
        return Subject(obj, ()) if isinstance(obj.get("spec"), dict) else None
    if obj.get("kind") != TEMPLATES.get(question.resource):
        return None
    return next(pods_in(obj), None)


def _is_owned(obj: JsonObject) -> bool:
    owners: Any = first(obj, "metadata", "ownerReferences")
    if not isinstance(owners, list):
        return False
    return any(isinstance(owner, dict) and owner.get("controller") for owner in owners)


def _is_mirror(obj: JsonObject) -> bool:
    """A static pod as its kubelet shows it: changing the picture changes nothing."""
    notes: Any = first(obj, "metadata", "annotations")
    return isinstance(notes, dict) and _MIRROR in notes


def _of_namespace(question: Question) -> Opinion:
    labels: Any = first(question.obj, "metadata", "labels")
    before: Any = first(question.old, "metadata", "labels")
    if not isinstance(labels, dict) or labels == before:
        return _NOTHING
    said = unknown_mode(labels)
    return Opinion((said,)) if said else _NOTHING
