"""LimitRanges: defaults for containers that say nothing, and bounds for what the others say."""

from collections.abc import Callable, Hashable, Iterator
from typing import ClassVar, Final

from winkube.api.quota.amounts import ZERO, Amount, Amounts, amounts
from winkube.api.quota.pod import container_amounts, spec_amounts
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.auth.user import User
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

_NOTE: Final = "kubernetes.io/limit-ranger"
_MOST_MILLI: Final = (2**63 - 1) // 1000
_PODS: Final = "pods"
_CLAIMS: Final = "persistentvolumeclaims"

Check = Callable[[tuple[str, str], Amount, Amounts, Amounts], str]


class LimitRanger:
    about: ClassVar = frozenset({_PODS, _CLAIMS})

    def __init__(self, resources: Resources) -> None:
        self._ranges = resources.core("limitranges")

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        return self._ranges.cache.changed

    async def admit(self, request: Admission) -> None:
        if request.served.kind.plural != _PODS:
            return
        for limit_range in self._found(request):
            _complete(request.obj or {}, limit_range)

    async def validate(self, request: Admission) -> None:
        obj = request.obj or {}
        check = _pod_problems if request.served.kind.plural == _PODS else _claim_problems
        for limit_range in self._found(request):
            problems = list(dict.fromkeys(check(obj.get("spec") or {}, _limits(limit_range))))
            if problems:
                one = len(problems) == 1
                raise request.forbidden(problems[0] if one else f"[{', '.join(problems)}]")

    def _found(self, request: Admission) -> list[JsonObject]:
        cache = self._ranges.cache
        if not len(cache) or not _is_supported(request):
            return []
        if request.old is not None and request.old["metadata"].get("deletionTimestamp"):
            return []
        return [item.load() for item in cache.items(self._ranges.folder(request.namespace))]


def _is_supported(request: Admission) -> bool:
    """New pods and claims, claims that change, and pods that are resized."""
    if request.obj is None or request.operation not in ("CREATE", "UPDATE"):
        return False
    is_pod, update = request.served.kind.plural == _PODS, request.operation == "UPDATE"
    if request.subresource:
        return request.subresource == "resize" and is_pod and update
    return not (is_pod and update)


def _limits(limit_range: JsonObject) -> list[JsonObject]:
    return (limit_range.get("spec") or {}).get("limits") or []


def _complete(pod: JsonObject, limit_range: JsonObject) -> None:
    defaults: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in _limits(limit_range):
        if limit.get("type") == "Container":
            defaults["requests"].update(limit.get("defaultRequest") or {})
            defaults["limits"].update(limit.get("default") or {})
    spec = pod.get("spec") or {}
    said: list[str] = []
    for field, word in (("containers", "container"), ("initContainers", "init container")):
        for container in spec.get(field) or ():
            said += _complete_container(container, word, defaults)
    if said:
        metadata = pod["metadata"]
        note = {_NOTE: f"LimitRanger plugin set: {'; '.join(said)}"}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **note}


def _complete_container(
    container: JsonObject, word: str, defaults: dict[str, dict[str, str]]
) -> Iterator[str]:
    for field in ("requests", "limits"):
        resources = container.get("resources") or {}
        own = resources.get(field) or {}
        missing = {name: value for name, value in defaults[field].items() if name not in own}
        if missing:
            container["resources"] = {**resources, field: {**own, **missing}}
            yield f"{', '.join(sorted(missing))} {field[:-1]} for {word} {container.get('name')}"


def _pod_problems(spec: JsonObject, limits: list[JsonObject]) -> Iterator[str]:
    for limit in limits:
        if limit.get("type") == "Container":
            for field in ("containers", "initContainers"):
                for container in spec.get(field) or ():
                    asked = container_amounts(container, "requests")
                    yield from _bounds(limit, asked, container_amounts(container, "limits"))
        elif limit.get("type") == "Pod":
            yield from _bounds(limit, spec_amounts(spec, "requests"), spec_amounts(spec, "limits"))


def _claim_problems(spec: JsonObject, limits: list[JsonObject]) -> Iterator[str]:
    asked = amounts((spec.get("resources") or {}).get("requests"))
    for limit in limits:
        if limit.get("type") == "PersistentVolumeClaim":
            yield from _apply(_too_little, limit, "min", asked, {})
            yield from _apply(_requests_too_much, limit, "max", asked, {})


def _bounds(limit: JsonObject, requests: Amounts, limits: Amounts) -> Iterator[str]:
    yield from _apply(_too_little, limit, "min", requests, limits)
    yield from _apply(_too_much, limit, "max", requests, limits)
    yield from _apply(_too_far_apart, limit, "maxLimitRequestRatio", requests, limits)


def _apply(
    check: Check, limit: JsonObject, field: str, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    for name, bound in sorted(amounts(limit.get(field)).items()):
        problem = check((name, limit["type"]), bound, requests, limits)
        if problem:
            yield problem


def _too_little(what: tuple[str, str], bound: Amount, requests: Amounts, limits: Amounts) -> str:
    name, kind = what
    said = f"minimum {name} usage per {kind} is {bound}"
    request, limit = requests.get(name), limits.get(name)
    if request is None:
        return f"{said}.  No request is specified"
    asked, capped, least = _comparable(request, limit or ZERO, bound)
    if asked < least:
        return f"{said}, but request is {request}"
    if limit is not None and capped < least:
        return f"{said}, but limit is {limit}"
    return ""


def _too_much(what: tuple[str, str], bound: Amount, requests: Amounts, limits: Amounts) -> str:
    name, kind = what
    said = f"maximum {name} usage per {kind} is {bound}"
    request, limit = requests.get(name), limits.get(name)
    if limit is None:
        return f"{said}.  No limit is specified"
    asked, capped, most = _comparable(request or ZERO, limit, bound)
    if capped > most:
        return f"{said}, but limit is {limit}"
    if request is not None and asked > most:
        return f"{said}, but request is {request}"
    return ""


def _requests_too_much(
    what: tuple[str, str], bound: Amount, requests: Amounts, limits: Amounts
) -> str:
    name, kind = what
    said = f"maximum {name} usage per {kind} is {bound}"
    request = requests.get(name)
    if request is None:
        return f"{said}.  No request is specified"
    asked, _, most = _comparable(request, ZERO, bound)
    return f"{said}, but request is {request}" if asked > most else ""


def _too_far_apart(what: tuple[str, str], bound: Amount, requests: Amounts, limits: Amounts) -> str:
    name, kind = what
    said = f"{name} max limit to request ratio per {kind} is {bound}"
    asked, capped, _ = _comparable(requests.get(name, ZERO), limits.get(name, ZERO), bound)
    if not asked:
        return f"{said}, but no request is specified or request is 0"
    if not capped:
        return f"{said}, but no limit is specified or limit is 0"
    ratio, most = capped / asked, float(_value(bound))
    precise = _value(bound) <= _MOST_MILLI
    over = ratio * 1000 > float(_milli(bound)) if precise else ratio > most
    return f"{said}, but provided ratio is {ratio:f}" if over else ""


def _comparable(request: Amount, limit: Amount, bound: Amount) -> tuple[int, int, int]:
    """In thousandths where that fits, else in whole units."""
    values = (_value(request), _value(limit), _value(bound))
    if max(values) <= _MOST_MILLI:
        return _milli(request), _milli(limit), _milli(bound)
    return values


def _value(quantity: Amount) -> int:
    return int(-(-quantity.number // 1))


def _milli(quantity: Amount) -> int:
    return int(-(-quantity.number * 1000 // 1))
