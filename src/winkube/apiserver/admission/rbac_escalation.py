"""Nobody hands out rights they do not have (unless they may ``escalate`` or ``bind``)."""

from collections.abc import Iterator
from itertools import product
from typing import ClassVar, Final

from winkube.api.errors import ForbiddenError
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.auth.authz import Attributes, Authorizer
from winkube.apiserver.auth.rbac import GROUP
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

_ROLES: Final = frozenset({"roles", "clusterroles"})
_BINDINGS: Final = frozenset({"rolebindings", "clusterrolebindings"})


class RbacEscalation:
    about: ClassVar = frozenset(f"{plural}.{GROUP}" for plural in _ROLES | _BINDINGS)

    def __init__(self, authorizer: Authorizer, resources: Resources) -> None:
        self._authorizer = authorizer
        self._resources = resources

    async def admit(self, request: Admission) -> None:
        kind, obj = request.served.kind, request.obj
        if kind.group != GROUP or obj is None:
            return
        if kind.plural in _ROLES:
            if self._may(request, "escalate", kind.plural, request.name):
                return
            rules = obj.get("rules") or []
            if request.old is not None and rules == (request.old.get("rules") or []):
                return
            self._check(request, rules)
        elif kind.plural in _BINDINGS:
            ref = obj.get("roleRef") or {}
            plural = "clusterroles" if ref.get("kind") == "ClusterRole" else "roles"
            if self._may(request, "bind", plural, ref.get("name", "")):
                return
            self._check(request, self._rules(request, plural, ref.get("name", "")))

    def _rules(self, request: Admission, plural: str, name: str) -> list[JsonObject]:
        served = self._resources.require(GROUP, "v1", plural)
        namespace = request.namespace if plural == "roles" else ""
        item = served.cache.get(served.key(namespace, name))
        if item is None:
            raise _refused(request, f'{plural} "{name}" not found')
        return item.load().get("rules") or []

    def _may(self, request: Admission, verb: str, plural: str, name: str) -> bool:
        attributes = Attributes(
            user=request.user,
            verb=verb,
            group=GROUP,
            resource=plural,
            namespace=request.namespace,
            name=name,
        )
        return self._authorizer.authorize(attributes).allowed

    def _check(self, request: Admission, rules: list[JsonObject]) -> None:
        for rule in rules:
            for attributes in _demands(request, rule):
                if not self._authorizer.authorize(attributes).allowed:
                    user = request.user
                    raise _refused(
                        request,
                        f'user "{user.name}" (groups={list(user.groups)}) is attempting to grant '
                        f"RBAC permissions not currently held:\n{rule}",
                    )


def _demands(request: Admission, rule: JsonObject) -> Iterator[Attributes]:
    """Every single right in a rule; a star is asked for as a star, which only a star allows."""
    verbs = rule.get("verbs") or ()
    for verb, path in product(verbs, rule.get("nonResourceURLs") or ()):
        yield Attributes(request.user, verb, path=path)
    names = rule.get("resourceNames") or ("",)
    for verb, group, full, name in product(
        verbs, rule.get("apiGroups") or (), rule.get("resources") or (), names
    ):
        resource, _, part = full.partition("/")
        yield Attributes(
            user=request.user,
            verb=verb,
            group=group,
            resource=resource,
            subresource=part,
            namespace=request.namespace,
            name=name,
        )


def _refused(request: Admission, cause: str) -> ForbiddenError:
    kind = request.served.kind
    return ForbiddenError(
        f'{kind.group_resource} "{request.name}" is forbidden: {cause}',
        details={"name": request.name, "group": kind.group, "kind": kind.plural},
    )
