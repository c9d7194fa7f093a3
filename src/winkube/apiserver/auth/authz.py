"""Authorisation: the Protocol, and the first implementation of it.

A decision is about attributes alone; who reads the verdict renders the refusal.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from winkube.apiserver.auth.user import (
    AUTHENTICATED,
    MASTERS,
    NODES,
    SERVICE_ACCOUNT_PREFIX,
    User,
)
from winkube.base.types import JsonObject

READ: Final = frozenset({"get", "list", "watch"})
_COMPONENTS: Final = frozenset(
    {
        "system:kube-controller-manager",
        "system:kube-scheduler",
        "system:kube-proxy",
        "system:dns",
    }
)
_OPEN_PATHS: Final = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})
_DISCOVERY: Final = ("/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz")


@dataclass(frozen=True, slots=True)
class Attributes:
    """One question: may this user do this? ``path`` is set for what is not a resource."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a user may do in a namespace, as SelfSubjectRulesReview lists it."""

    resources: list[JsonObject]
    paths: list[JsonObject]


class Authorizer(Protocol):
    def authorize(self, attributes: Attributes) -> Decision: ...

    def rules(self, user: User, namespace: str) -> Rules: ...


class ComponentAuthorizer:
    """Admins and our own components may do all; service accounts may read, secrets excepted."""

    def authorize(self, attributes: Attributes) -> Decision:
        user = attributes.user
        if MASTERS in user.groups:
            return Decision(allowed=True)
        if NODES in user.groups or user.name in _COMPONENTS:
            return Decision(allowed=True)
        if attributes.path:
            return Decision(_may_read_path(attributes))
        if user.name.startswith(SERVICE_ACCOUNT_PREFIX):
            return Decision(attributes.verb in READ and attributes.resource != "secrets")
        return Decision(allowed=_is_self_review(attributes))

    def rules(self, user: User, namespace: str) -> Rules:
        everything = self.authorize(Attributes(user, "*", resource="*", namespace=namespace))
        verbs = ["*"] if everything.allowed else sorted(READ)
        if not everything.allowed and not user.name.startswith(SERVICE_ACCOUNT_PREFIX):
            return Rules([], [])
        resources = [{"verbs": verbs, "apiGroups": ["*"], "resources": ["*"]}]
        paths = [{"verbs": verbs, "nonResourceURLs": ["*"]}] if everything.allowed else []
        return Rules(resources, paths)


def _may_read_path(attributes: Attributes) -> bool:
    if attributes.verb != "get":
        return False
    path = attributes.path
    if path in _OPEN_PATHS:
        return True
    known = any(path == root or path.startswith(root + "/") for root in _DISCOVERY)
    return known and AUTHENTICATED in attributes.user.groups


def _is_self_review(attributes: Attributes) -> bool:
    reviews = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}
    return (
        attributes.verb == "create"
        and attributes.resource in reviews
        and AUTHENTICATED in attributes.user.groups
    )


def refusal(attributes: Attributes, reason: str = "") -> str:
    """Upstream's sentence, without the ``<resource> "<name>" is forbidden: `` in front."""
    user = f'User "{attributes.user.name}"'
    if attributes.path:
        return f'{user} cannot {attributes.verb} path "{attributes.path}"'
    where = (
        f'in the namespace "{attributes.namespace}"'
        if attributes.namespace
        else "at the cluster scope"
    )
    text = (
        f'{user} cannot {attributes.verb} resource "{attributes.full_resource}" '
        f'in API group "{attributes.group}" {where}'
    )
    return f"{text}: {reason}" if reason else text
