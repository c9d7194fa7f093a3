"""Apply the rules to objects, one after the other, for one or several targets.

Objects that need others are judged last: a Service needs the pods it selects, a volume claim those
that use it, a pod with a RuntimeClass needs that class. Nothing else is kept, so memory does not
grow with the input.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Generic, NamedTuple, TypeVar

from winkube.base.types import JsonObject
from winkube.rules.context import Context
from winkube.rules.load import load_rules
from winkube.rules.model import Finding, Hit, ObjectRef, Pods, Rule, Target
from winkube.rules.needs import Chooser, Needs, names_in, needs_of
from winkube.rules.paths import find, first, parse_pattern
from winkube.rules.placement import Placement, place
from winkube.rules.subjects import Subject, pods_in
from winkube.rules.templates.registry import TEMPLATES, Template

Tag = TypeVar("Tag")
_DEFAULT_NAMESPACE: Final = "default"
_VOLUMES: Final = ("PersistentVolume", "PersistentVolumeClaim")
_AFTER_PODS: Final = ("Service", *_VOLUMES)  # what they are for depends on pods
_CLAIMS: Final = parse_pattern("spec.volumes[*].persistentVolumeClaim.claimName")
_NOWHERE: Final = Placement(None, None, False)


class _Active(NamedTuple):
    """A rule and those of the targets where it is true."""

    rule: Rule
    template: Template
    targets: tuple[Target, ...]
    needs: Needs


class _Labelled(NamedTuple):
    labels: JsonObject
    placement: Placement


@dataclass(slots=True)
class _World:
    runtime_classes: dict[str, JsonObject] = field(default_factory=dict)
    windows_pods: dict[tuple[str, str, str], list[_Labelled]] = field(default_factory=dict)
    claims: dict[tuple[str, str], Placement] = field(default_factory=dict)


class Ruleset:
    """The rules that can hold for some targets, by the kind they are about."""

    def __init__(self, targets: Sequence[Target], rules: Iterable[Rule] | None = None) -> None:
        self.targets = tuple(targets)
        self._rules = load_rules() if rules is None else tuple(rules)

    @cached_property
    def _by_kind(self) -> dict[str, tuple[_Active, ...]]:
        found: dict[str, list[_Active]] = {}
        for rule in self._rules:
            if rule.template == "no-check":
                continue
            where = tuple(target for target in self.targets if rule.holds.at(target))
            for kind in rule.kinds if where else ():
                active = _Active(rule, TEMPLATES[rule.template], where, needs_of(rule))
                found.setdefault(kind, []).append(active)
        return {kind: tuple(active) for kind, active in found.items()}

    @cached_property
    def _for_pods(self) -> dict[str | None, Chooser[_Active]]:
        """Rules for pods by the system that the pod is for."""
        every = self._by_kind.get("Pod", ())
        return {os: _chooser(every, os) for os in ("windows", "linux", None)}

    @cached_property
    def _for_objects(self) -> dict[tuple[str, str | None], Chooser[_Active]]:
        return {}

    def of_object(self, kind: str, os: str | None) -> Chooser[_Active]:
        """Rules about a whole object; kinds that no rule names share theirs."""
        known = kind if kind != "Pod" and kind in self._by_kind else ""
        found = self._for_objects.get((known, os))
        if found is None:
            rules = self._by_kind.get(known, ()) + self._by_kind.get("*", ())
            found = self._for_objects[known, os] = _chooser(rules, os)
        return found

    def of_pods(self, os: str | None) -> Chooser[_Active]:
        return self._for_pods[os]


def _chooser(rules: Iterable[_Active], os: str | None) -> Chooser[_Active]:
    return Chooser((rule, rule.needs) for rule in rules if _concerns(rule.rule.pods, os))


class Engine(Generic[Tag]):
    """Feed it objects, each with a tag that tells where it came from; then finish."""

    def __init__(
        self, rules: Ruleset, runtime_classes: Mapping[str, JsonObject] | None = None
    ) -> None:
        self._rules = rules
        self._world = _World(dict(runtime_classes or {}))
        self._later: list[tuple[JsonObject, Tag]] = []

    def feed(self, document: JsonObject, tag: Tag) -> Iterator[tuple[Tag, Finding]]:
        """Judge an object now, or keep it until all are known."""
        kind = document.get("kind")
        if kind == "RuntimeClass":
            name = first(document, "metadata", "name")
            self._world.runtime_classes[str(name)] = document
        if kind in _AFTER_PODS or self._waits_for_class(document):
            self._later.append((document, tag))
            return
        for finding in self._judge(document):
            yield tag, finding

    def finish(self) -> Iterator[tuple[Tag, Finding]]:
        """Judge what had to wait; last come the kinds that look at the pods."""
        for is_after in (False, True):
            for document, tag in self._later:
                if (document.get("kind") in _AFTER_PODS) is is_after:
                    for finding in self._judge(document):
                        yield tag, finding
        self._later.clear()

    def _waits_for_class(self, document: JsonObject) -> bool:
        for subject in pods_in(document):
            name = subject.pod["spec"].get("runtimeClassName")
            if isinstance(name, str) and name not in self._world.runtime_classes:
                return True
        return False

    def _judge(self, document: JsonObject) -> Iterator[Finding]:
        ref = to_ref(document)
        placements = []
        for subject in pods_in(document):
            where = place(subject.pod, self._world.runtime_classes)
            placements.append(where)
            if where.is_windows:
                self._remember(subject, ref, where)
            rules = self._rules.of_pods(where.os)
            yield from self._apply(rules, subject, (document, where, ref))
        where = self._placement_of(document, ref, placements)
        rules = self._rules.of_object(ref.kind, where.os)
        yield from self._apply(rules, Subject(document, ()), (document, where, ref))

    def _apply(
        self,
        rules: Chooser[_Active],
        subject: Subject,
        around: tuple[JsonObject, Placement, ObjectRef],
    ) -> Iterator[Finding]:
        owner, where, ref = around
        for active in rules.choose(names_in(subject.pod)):
            rule = active.rule
            if not all(condition.holds(subject.pod) for condition in rule.when):
                continue
            if any(condition.holds(subject.pod) for condition in rule.unless):
                continue
            for hit, targets in self._hits(active, subject.pod, owner, where):
                path = subject.locate(hit.path)
                adds = rule.fix is not None and rule.fix.do == "add"
                fix_path = subject.locate(rule.fix.at) if rule.fix and adds else path
                yield Finding(rule, ref, path, hit.detail, targets, fix_path)

    def _hits(
        self, active: _Active, judged: JsonObject, owner: JsonObject, where: Placement
    ) -> Iterator[tuple[Hit, tuple[Target, ...]]]:
        """What a template finds; a finding that several targets share is told once."""
        classes, params = self._world.runtime_classes, active.rule.params
        if not active.template.by_target:
            context = Context(owner, where, active.targets[0], classes)
            for hit in active.template.find(judged, params, context):
                yield hit, active.targets
            return
        found: dict[Hit, list[Target]] = {}
        for target in active.targets:
            context = Context(owner, where, target, classes)
            for hit in active.template.find(judged, params, context):
                found.setdefault(hit, []).append(target)
        for hit, targets in found.items():
            yield hit, tuple(targets)

    def _remember(self, subject: Subject, ref: ObjectRef, where: Placement) -> None:
        for _, claim in find(subject.pod, _CLAIMS):
            self._world.claims[ref.namespace or _DEFAULT_NAMESPACE, str(claim)] = where
        labels = first(subject.pod, "metadata", "labels")
        for key, value in labels.items() if isinstance(labels, dict) else ():
            place = ref.namespace or _DEFAULT_NAMESPACE, str(key), str(value)
            self._world.windows_pods.setdefault(place, []).append(_Labelled(labels, where))

    def _placement_of(
        self, document: JsonObject, ref: ObjectRef, own: list[Placement]
    ) -> Placement:
        """For which system an object is: by its own pods, those it selects, those that use it."""
        if ref.kind in _VOLUMES:
            return self._world.claims.get(_claim_of(document, ref), _NOWHERE)
        if own or ref.kind != "Service":
            return own[0] if own else _NOWHERE
        selector = first(document, "spec", "selector")
        if not isinstance(selector, dict) or not selector:
            return _NOWHERE
        # Any label of the selector leads to all pods that can match.
        key, value = next(iter(selector.items()))
        place = ref.namespace or _DEFAULT_NAMESPACE, str(key), str(value)
        for pod in self._world.windows_pods.get(place, ()):
            if all(pod.labels.get(name) == wanted for name, wanted in selector.items()):
                return pod.placement
        return _NOWHERE


def _claim_of(document: JsonObject, ref: ObjectRef) -> tuple[str, str]:
    """The claim that an object is, or that a volume is bound to."""
    if ref.kind == "PersistentVolumeClaim":
        return ref.namespace or _DEFAULT_NAMESPACE, ref.name
    bound = first(document, "spec", "claimRef")
    return str(first(bound, "namespace") or _DEFAULT_NAMESPACE), str(first(bound, "name") or "")


def check(documents: Iterable[JsonObject], *targets: Target) -> Iterator[Finding]:
    """Judge objects that belong together."""
    engine: Engine[None] = Engine(Ruleset(targets))
    for document in documents:
        yield from (finding for _, finding in engine.feed(document, None))
    yield from (finding for _, finding in engine.finish())


def to_ref(document: JsonObject) -> ObjectRef:
    metadata: Any = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return ObjectRef(
        str(document.get("apiVersion") or ""),
        str(document.get("kind") or ""),
        str(metadata.get("namespace") or ""),
        str(metadata.get("name") or metadata.get("generateName") or ""),
    )


def _concerns(pods: Pods, os: str | None) -> bool:
    if pods is Pods.ANY:
        return True
    if pods is Pods.NOT_WINDOWS:
        return os != "windows"
    return os == pods.value
