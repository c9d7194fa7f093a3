"""Authentication: client certificate first, then bearer token, else anonymous."""

from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from aiohttp import web

from winkube.api.errors import UnauthorizedError
from winkube.apiserver.auth.token import InvalidTokenError, TokenAuthority
from winkube.apiserver.auth.user import ANONYMOUS, AUTHENTICATED, User

_BEARER: Final = "bearer "
_IMPERSONATE: Final = "Impersonate-User"

# As ssl.SSLSocket.getpeercert gives it: relative names of (attribute, value) pairs.
Subject = tuple[tuple[tuple[str, str], ...], ...]


class Authenticator:
    def __init__(self, tokens: TokenAuthority) -> None:
        self._tokens = tokens

    def authenticate(self, request: web.BaseRequest) -> User:
        user = self._certificate_user(request)
        if user is not None:
            return user
        header = request.headers.get("Authorization", "")
        if not header:
            return ANONYMOUS
        if header[: len(_BEARER)].lower() != _BEARER:
            raise UnauthorizedError
        try:
            return self._tokens.verify(header[len(_BEARER) :].strip())[0]
        except InvalidTokenError as error:
            raise UnauthorizedError from error

    def _certificate_user(self, request: web.BaseRequest) -> User | None:
        transport = request.transport
        cert = transport.get_extra_info("peercert") if transport is not None else None
        return user_of_subject(cert["subject"]) if cert else None


@lru_cache(maxsize=1024)
def user_of_subject(subject: Subject) -> User | None:
    """CN is the user, each O a group (upstream's CommonNameUserConversion)."""
    names: list[str] = []
    groups: list[str] = []
    for relative in subject:
        for key, value in relative:
            if key == "commonName":
                names.append(value)
            elif key == "organizationName":
                groups.append(value)
    return User(names[0], (*groups, AUTHENTICATED)) if names else None


def impersonated_user(request: web.BaseRequest) -> User | None:
    """The user a client wants to act as; the caller checks that it may."""
    name = request.headers.get(_IMPERSONATE)
    if not name:
        return None
    groups = request.headers.getall("Impersonate-Group", [])
    extra: dict[str, tuple[str, ...]] = {}
    for key, value in request.headers.items():
        if key.lower().startswith("impersonate-extra-"):
            field = unquote(key[len("impersonate-extra-") :]).lower()
            extra[field] = (*extra.get(field, ()), value)
    named = (*groups, AUTHENTICATED) if AUTHENTICATED not in groups else tuple(groups)
    return User(name, named, request.headers.get("Impersonate-Uid", ""), extra)
