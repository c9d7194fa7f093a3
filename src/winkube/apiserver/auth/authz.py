"""Authorisation: the Protocol, and the first implementation of it.

A decision is about attributes alone; who reads the verdict renders the refusal.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from winkube.apiserver.auth.user import MASTERS, User
from winkube.base.types import JsonObject


class Attributes(NamedTuple):
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
    fields: str = ""  # the field selector of a list, a watch or the deletion of a collection

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    reason: str = ""


_YES: Final = Decision(allowed=True)
_NO: Final = Decision(allowed=False)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a user may do in a namespace, as SelfSubjectRulesReview lists it."""

    resources: list[JsonObject]
    paths: list[JsonObject]
    # Why there may be more.
    gap: str = ""


class Authorizer(Protocol):
    def authorize(self, attributes: Attributes) -> Decision: ...

    def rules(self, user: User, namespace: str) -> Rules: ...


class MastersAuthorizer:
    """Administrators may do all, even while the roles that say so are missing."""

    def authorize(self, attributes: Attributes) -> Decision:
        return _YES if MASTERS in attributes.user.groups else _NO

    def rules(self, user: User, namespace: str) -> Rules:
        """None of its own: roles list what may be done, upstream too."""
        return Rules([], [])


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
