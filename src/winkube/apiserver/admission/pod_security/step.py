"""PodSecurity admission: refuses pods, warns about templates, and checks a namespace's labels."""

from collections.abc import Hashable, Iterable
from typing import ClassVar, Final

from winkube.api.errors import InvalidError
from winkube.api.meta import controller_of
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.admission.pod_security.evaluate import details, evaluate, reasons
from winkube.apiserver.admission.pod_security.policy import (
    ALLOWS_ALL,
    LABEL,
    LEVELS,
    PRIVILEGED,
    Policy,
    Standard,
    parse_policy,
)
from winkube.apiserver.auth.user import User
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

_TEMPLATES: Final = frozenset(
    ("replicationcontrollers", "podtemplates", "replicasets.apps", "deployments.apps",
     "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch")
)  # fmt: skip
_IGNORED: Final = frozenset(
    ("exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status")
)
_LABEL: Final = LABEL.encode()
_MOST_PODS: Final = 3000  # looked at when the level of their namespace changes


class PodSecurity:
    about: ClassVar = frozenset({"pods", "namespaces"}) | _TEMPLATES

    def __init__(self, resources: Resources) -> None:
        self._namespaces = resources.core("namespaces")
        self._pods = resources.core("pods")

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        item = self._namespaces.cache.get(self._namespaces.key("", namespace))
        return None if item is None else item.revision

    async def validate(self, request: Admission) -> None:
        if request.operation not in ("CREATE", "UPDATE") or request.obj is None:
            return
        resource = request.served.kind.group_resource
        if resource == "namespaces":
            self._check_namespace(request)
        elif resource == "pods":
            self._check_pod(request)
        elif not request.subresource:
            self._check_template(request, request.obj)

    def _policy(self, namespace: str) -> Policy:
        item = self._namespaces.cache.get(self._namespaces.key("", namespace))
        # The text tells whether there are labels to read at all.
        if item is None or _LABEL not in item.data:
            return ALLOWS_ALL
        return parse_policy(item.labels)[0]

    def _check_pod(self, request: Admission) -> None:
        policy = self._policy(request.namespace)
        pod, old = request.obj or {}, request.old
        if policy.allows_all or request.subresource in _IGNORED:
            return
        if old is not None and not _is_significant(pod["spec"], old["spec"]):
            return
        violations = evaluate(policy.enforce, pod["metadata"], pod["spec"])
        if violations:
            said = f'violates PodSecurity "{policy.enforce}": {details(violations)}'
            raise request.forbidden(said)
        _warn(request, policy.warn, pod["metadata"], pod["spec"])

    def _check_template(self, request: Admission, obj: JsonObject) -> None:
        policy = self._policy(request.namespace)
        template = _template(obj)
        if policy.warn.level == PRIVILEGED or not template:
            return
        _warn(request, policy.warn, template.get("metadata") or {}, template.get("spec") or {})

    def _check_namespace(self, request: Admission) -> None:
        if request.subresource:
            return
        new, problems = parse_policy(_labels(request.obj))
        old, before = parse_policy(_labels(request.old))
        if problems and (request.old is None or problems.causes != before.causes):
            raise InvalidError.of("Namespace", request.name, problems.causes)
        if request.old is None or not _is_stricter(new.enforce, old.enforce):
            return
        request.warnings.extend(self._look_at_pods(request.name, new.enforce))

    def _look_at_pods(self, namespace: str, standard: Standard) -> list[str]:
        """What pods that run already would not be allowed any more."""
        items = self._pods.cache.items(self._pods.folder(namespace))
        pods = _of_each_owner_first([item.load() for item in items])
        seen: dict[str, list[str]] = {}
        checked = min(len(pods), _MOST_PODS)
        for pod in pods[:_MOST_PODS]:
            found = evaluate(standard, pod["metadata"], pod["spec"])
            if found:
                seen.setdefault(reasons(found), []).append(pod["metadata"]["name"])
        warnings = []
        if checked < len(pods):
            warnings.append(
                "new PodSecurity enforce level only checked against the first "
                f"{checked} of {len(pods)} existing pods"
            )
        if seen:
            warnings.append(
                f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce '
                f'level "{standard}"'
            )
        return warnings + sorted(f"{_who(names)}: {reason}" for reason, names in seen.items())


def _is_stricter(new: Standard, old: Standard) -> bool:
    """Whether pods that were allowed may not be any more."""
    if new in (old, Standard(PRIVILEGED, new.minor)):
        return False
    return new.minor != old.minor or LEVELS.index(new.level) > LEVELS.index(old.level)


def _warn(request: Admission, standard: Standard, metadata: JsonObject, spec: JsonObject) -> None:
    violations = evaluate(standard, metadata, spec)
    if violations:
        said = f'would violate PodSecurity "{standard}": {details(violations)}'
        request.warnings.append(said)


def _labels(namespace: JsonObject | None) -> dict[str, str]:
    return ((namespace or {}).get("metadata") or {}).get("labels") or {}


def _template(obj: JsonObject) -> JsonObject:
    if obj.get("kind") == "PodTemplate":
        return obj.get("template") or {}
    spec = obj.get("spec") or {}
    if obj.get("kind") == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    return spec.get("template") or {}


def _is_significant(new: JsonObject, old: JsonObject) -> bool:
    """Of what may change in a pod, images and new containers count."""
    for field in ("containers", "initContainers"):
        after, before = new.get(field) or [], old.get(field) or []
        if [entry.get("image") for entry in after] != [entry.get("image") for entry in before]:
            return True
    known = {entry["name"]: entry.get("image") for entry in old.get("ephemeralContainers") or ()}
    return any(
        entry["name"] not in known or known[entry["name"]] != entry.get("image")
        for entry in new.get("ephemeralContainers") or ()
    )


def _of_each_owner_first(pods: Iterable[JsonObject]) -> list[JsonObject]:
    """Pods of one owner are alike: the first of each, then the rest."""
    first, rest, owners = [], [], set()
    for pod in pods:
        owner = (controller_of(pod) or {}).get("uid")
        if owner in owners:
            rest.append(pod)
        else:
            first.append(pod)
            if owner is not None:
                owners.add(owner)
    return first + rest


def _who(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'})"
