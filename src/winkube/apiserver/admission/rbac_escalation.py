"""Nobody hands out rights they do not have (unless they may ``escalate`` or ``bind``).

A role that gathers others has whatever anybody adds to those: only who has every right may make
one. A role's labels say who gathers it, so they are no small change either.
"""

from typing import ClassVar, Final

from winkube.api.errors import ForbiddenError
from winkube.api.go.text import quoted_list
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.auth.authz import Attributes, Authorizer
from winkube.apiserver.auth.cover import TooManyRightsError, missing_rights
from winkube.apiserver.auth.rbac import GROUP
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

_ROLES: Final = frozenset({"roles", "clusterroles"})
_BINDINGS: Final = frozenset({"rolebindings", "clusterrolebindings"})
_EVERYTHING: Final[list[JsonObject]] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]
# What the collection of garbage changes: no matter of rights.
_UPKEEP: Final = frozenset({"ownerReferences", "finalizers", "selfLink", "managedFields"})


class RbacEscalation:
    about: ClassVar = frozenset(f"{plural}.{GROUP}" for plural in _ROLES | _BINDINGS)

    def __init__(self, authorizer: Authorizer, resources: Resources) -> None:
        self._authorizer = authorizer
        self._resources = resources

    async def admit(self, request: Admission) -> None:
        kind, obj = request.served.kind, request.obj
        if kind.group != GROUP or obj is None or _is_upkeep(obj, request.old):
            return
        if kind.plural in _ROLES:
            self._check_role(request, obj)
        elif kind.plural in _BINDINGS:
            ref = obj.get("roleRef") or {}
            plural = "clusterroles" if ref.get("kind") == "ClusterRole" else "roles"
            if self._may(request, "bind", plural, ref.get("name", "")):
                return
            self._check(request, self._rules(request, plural, ref.get("name", "")))

    def _check_role(self, request: Admission, obj: JsonObject) -> None:
        # Who creates a role names it: a right to one name is no right to make it.
        name = "" if request.operation == "CREATE" else request.name
        if self._may(request, "escalate", request.served.kind.plural, name):
            return
        self._check(request, obj.get("rules") or [])
        if (_gathers(obj) or _gathers(request.old)) and self._missing(request, _EVERYTHING):
            raise _refused(request, "must have cluster-admin privileges to use the aggregationRule")

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
        missing = self._missing(request, rules)
        if missing:
            user = request.user
            raise _refused(
                request,
                f'user "{user.name}" (groups={quoted_list(user.groups)}) is attempting to grant '
                "RBAC permissions not currently held:\n" + "\n".join(missing),
            )

    def _missing(self, request: Admission, rules: list[JsonObject]) -> list[str]:
        owned = self._authorizer.rules(request.user, request.namespace)
        try:
            return sorted(map(str, missing_rights(owned, rules)))
        except TooManyRightsError as error:
            raise _refused(request, str(error)) from error


def _gathers(role: JsonObject | None) -> bool:
    return bool(((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _is_upkeep(new: JsonObject, old: JsonObject | None) -> bool:
    if old is None:
        return False
    return _without_upkeep(new) == _without_upkeep(old)


def _without_upkeep(obj: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _UPKEEP}
    return {**obj, "metadata": metadata}


def _refused(request: Admission, cause: str) -> ForbiddenError:
    kind = request.served.kind
    return ForbiddenError(
        f'{kind.group_resource} "{request.name}" is forbidden: {cause}',
        details={"name": request.name, "group": kind.group, "kind": kind.plural},
    )
