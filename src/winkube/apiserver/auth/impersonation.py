"""Acting as somebody else: what the headers ask for, and every right that takes.

Each part of the wanted identity is a question of its own: the user or service account, every group,
the uid and every extra value (k8s.io/apiserver: pkg/endpoints/filters/impersonation.go). Nothing is
taken from the headers that was not asked for.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from aiohttp import web
from multidict import CIMultiDictProxy

from winkube.api.errors import NobodyError
from winkube.apiserver.auth.authz import Attributes
from winkube.apiserver.auth.user import (
    ANONYMOUS,
    AUTHENTICATED,
    SERVICE_ACCOUNT_PREFIX,
    UNAUTHENTICATED,
    User,
    service_account_user,
)

_GROUP: Final = "authentication.k8s.io"
_USER: Final = "Impersonate-User"
_PREFIX: Final = "impersonate-"
_EXTRA: Final = "impersonate-extra-"


def impersonated_user(request: web.BaseRequest) -> User | None:
    """The user a client wants to act as; the caller checks that it may."""
    headers = request.headers
    if not _is_asked(headers):
        return None
    name = headers.get(_USER, "")
    groups, uid = headers.getall("Impersonate-Group", []), headers.get("Impersonate-Uid", "")
    extra = _extra(headers)
    if not name:
        if groups or uid or extra:
            # Going on as the caller would do with all its rights what was meant with few.
            raise NobodyError(request.path, _parts(groups, uid, extra))
        return None
    return User(name, _completed(name, tuple(groups)), uid, extra)


def _is_asked(headers: CIMultiDictProxy[str]) -> bool:
    # At one go: this is looked at with every request.
    return _PREFIX in "\n".join(headers).lower()


def _parts(groups: list[str], uid: str, extra: dict[str, tuple[str, ...]]) -> str:
    """As Go prints references: kind, namespace, name, uid, version, revision, field."""
    parts = [f"{{Group  {group}    }}" for group in groups]
    for key, values in extra.items():
        parts += [f"{{UserExtra  {value}  {_GROUP}/v1  {key}}}" for value in values]
    parts += [f"{{UID  {uid}  {_GROUP}/v1  }}"] * bool(uid)
    return " ".join(parts)


def _extra(headers: CIMultiDictProxy[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for key, value in headers.items():
        if key.lower().startswith(_EXTRA):
            field = unquote(key[len(_EXTRA) :]).lower()
            found[field] = (*found.get(field, ()), value)
    return found


def _completed(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """With the groups that authentication itself would have added."""
    account = account_of(name)
    if account is not None and not groups:
        return service_account_user(*account, "").groups
    if name == ANONYMOUS.name:
        return groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    return groups if AUTHENTICATED in groups else (*groups, AUTHENTICATED)


def account_of(name: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user name."""
    parts = name.removeprefix(SERVICE_ACCOUNT_PREFIX).split(":")
    if not name.startswith(SERVICE_ACCOUNT_PREFIX) or len(parts) != 2 or not all(parts):
        return None
    return parts[0], parts[1]


def demands(user: User, wanted: User) -> Iterator[Attributes]:
    """Every right that ``user`` needs to act as ``wanted``."""
    account = account_of(wanted.name)
    implied: frozenset[str] = frozenset({AUTHENTICATED, UNAUTHENTICATED})
    if account is None:
        yield Attributes(user, "impersonate", resource="users", name=wanted.name)
    else:
        implied |= frozenset(service_account_user(*account, "").groups)
        yield Attributes(
            user,
            "impersonate",
            resource="serviceaccounts",
            namespace=account[0],
            name=account[1],
        )
    for group in wanted.groups:
        if group not in implied:
            yield Attributes(user, "impersonate", resource="groups", name=group)
    if wanted.uid:
        yield Attributes(user, "impersonate", group=_GROUP, resource="uids", name=wanted.uid)
    for key, values in wanted.extra.items():
        for value in values:
            yield Attributes(
                user,
                "impersonate",
                group=_GROUP,
                resource="userextras",
                subresource=key,
                name=value,
            )
