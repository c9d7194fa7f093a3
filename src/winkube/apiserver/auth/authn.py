"""Authentication: client certificate first, then bearer token, else anonymous."""

from functools import lru_cache
from typing import Final

from aiohttp import web

from winkube.api.errors import UnauthorizedError
from winkube.apiserver.auth.token import InvalidTokenError, TokenAuthority
from winkube.apiserver.auth.user import ANONYMOUS, AUTHENTICATED, User

_BEARER: Final = "bearer "

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
