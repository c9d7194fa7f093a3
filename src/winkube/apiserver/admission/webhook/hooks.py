"""The webhooks that are configured, and which of them a request concerns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from winkube.api.errors import NotFoundError
from winkube.api.selector.labels import LabelSelector, from_label_selector
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.item import Item
from winkube.apiserver.served import Resources, Served
from winkube.base.types import JsonObject

GROUP: Final = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True)
class Hook:
    uid: str  # configuration, name and place: one name may stand in several
    name: str
    spec: JsonObject
    namespaces: LabelSelector | None
    objects: LabelSelector | None

    @property
    def fails_open(self) -> bool:
        return self.spec.get("failurePolicy") == "Ignore"

    @property
    def may_run_again(self) -> bool:
        return self.spec.get("reinvocationPolicy") == "IfNeeded"

    @property
    def has_side_effects(self) -> bool:
        return self.spec.get("sideEffects") not in ("None", "NoneOnDryRun")

    @property
    def seconds(self) -> int:
        return int(self.spec.get("timeoutSeconds") or 10)


class Hooks:
    """By configuration name, then as listed; read once per version of a configuration."""

    def __init__(self, resources: Resources, plural: str) -> None:
        self._configurations = resources.find(GROUP, "v1", plural)
        self._namespaces = resources.core("namespaces")
        self._known: dict[str, tuple[int, tuple[Hook, ...]]] = {}

    @property
    def exist(self) -> bool:
        return self._configurations is not None and len(self._configurations.cache) > 0

    def concerned(self, request: Admission) -> list[Hook]:
        return [hook for hook in self._asked(request) if self.matches(hook, request)]

    def asked(self, request: Admission) -> frozenset[str]:
        """Who may be concerned, whatever the object says of itself."""
        try:
            return frozenset(
                hook.uid for hook in self._asked(request) if self._is_near(hook, request)
            )
        except NotFoundError:
            return frozenset()  # there is no such namespace: nobody will be asked

    def _asked(self, request: Admission) -> Iterable[Hook]:
        if self._configurations is None or not self.exist or not request.asks:
            return ()
        if request.served.kind.group == GROUP:
            return ()  # else a bad webhook could not be taken away again
        return self._all(self._configurations)

    def _all(self, configurations: Served) -> Iterable[Hook]:
        for item in configurations.cache.items():
            revision, hooks = self._known.get(item.key, (-1, ()))
            if revision != item.revision:
                hooks = tuple(_read(item))
                self._known[item.key] = (item.revision, hooks)
            yield from hooks

    def matches(self, hook: Hook, request: Admission) -> bool:
        if hook.objects is not None:
            metas = [(each or {}).get("metadata") for each in (request.obj, request.old)]
            found = [meta for meta in metas if meta]
            if not any(hook.objects.matches(meta.get("labels") or {}) for meta in found):
                return False
        return self._is_near(hook, request)

    def _is_near(self, hook: Hook, request: Admission) -> bool:
        rules = hook.spec.get("rules") or ()
        if not any(rule_matches(rule, request) for rule in rules):
            return False
        return hook.namespaces is None or self._in_namespace(hook.namespaces, request)

    def _in_namespace(self, selector: LabelSelector, request: Admission) -> bool:
        labels: Mapping[str, str] | None
        if request.is_for("namespaces") and request.obj is not None:
            labels = request.obj["metadata"].get("labels") or {}
        else:
            name = request.name if _is_namespace(request) else request.namespace
            if not name:
                return True
            item = self._namespaces.cache.get(self._namespaces.key("", name))
            if item is None:
                raise NotFoundError.of("namespaces", name)
            labels = item.labels
        return selector.matches(labels)


def _read(item: Item) -> Iterable[Hook]:
    for number, spec in enumerate(item.load().get("webhooks") or ()):
        name = spec.get("name") or ""
        yield Hook(
            f"{item.name}/{name}/{number}",
            name,
            spec,
            _selector(spec.get("namespaceSelector")),
            _selector(spec.get("objectSelector")),
        )


def _selector(selector: Any) -> LabelSelector | None:
    """None for one that selects everything."""
    wanted = selector or {}
    if not wanted.get("matchLabels") and not wanted.get("matchExpressions"):
        return None
    return from_label_selector(wanted)


def _is_namespace(request: Admission) -> bool:
    return request.served.kind.group_resource == "namespaces"


def rule_matches(rule: JsonObject, request: Admission) -> bool:
    kind = request.served.kind
    return (
        _scope_matches(rule.get("scope") or "*", request)
        and _listed(rule.get("operations"), request.operation)
        and _listed(rule.get("apiGroups"), kind.group)
        and _listed(rule.get("apiVersions"), kind.version)
        and any(
            _resource_matches(entry, kind.plural, request.subresource)
            for entry in rule.get("resources") or ()
        )
    )


def _listed(items: Any, wanted: str) -> bool:
    return "*" in (items or ()) or wanted in (items or ())


def _scope_matches(scope: str, request: Admission) -> bool:
    if scope == "*":
        return True
    return request.served.kind.namespaced == (scope == "Namespaced")


def _resource_matches(entry: str, plural: str, subresource: str) -> bool:
    resource, _, part = entry.partition("/")
    return resource in ("*", plural) and part in ("*", subresource)
