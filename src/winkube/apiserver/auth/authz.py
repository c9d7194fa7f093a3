"""Authorisation: the Protocol, and the first implementation of it.

A decision is about attributes alone; who reads the verdict renders the refusal.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from winkube.apiserver.auth.user import (
    MASTERS,
    NODES,
    User,
)
from winkube.base.types import JsonObject

_COMPONENTS: Final = frozenset(
    {
        "system:kube-controller-manager",
        "system:kube-scheduler",
        "system:kube-proxy",
        "system:dns",
    }
)
_OPEN_PATHS: Final = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})


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
    """Admins and our own components may do all; everybody may ask for health."""

    def authorize(self, attributes: Attributes) -> Decision:
        user = attributes.user
        if MASTERS in user.groups:
            return Decision(allowed=True)
        if NODES in user.groups or user.name in _COMPONENTS:
            return Decision(allowed=True)
        return Decision(allowed=attributes.verb == "get" and attributes.path in _OPEN_PATHS)

    def rules(self, user: User, namespace: str) -> Rules:
        everything = Attributes(user, "*", resource="*", namespace=namespace)
        if not self.authorize(everything).allowed:
            return Rules([], [])
        resources = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
        return Rules(resources, [{"verbs": ["*"], "nonResourceURLs": ["*"]}])


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
