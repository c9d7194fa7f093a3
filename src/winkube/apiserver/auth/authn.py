"""Authentication: client certificate first, then bearer token, else anonymous.

TLS has checked the certificate when the connection began; a connection may outlive it.
"""

import hashlib
import ssl
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, cast
from weakref import WeakKeyDictionary

from aiohttp import web

from winkube.api.errors import UnauthorizedError
from winkube.apiserver.auth.token import InvalidTokenError, TokenAuthority
from winkube.apiserver.auth.user import ANONYMOUS, AUTHENTICATED, User
from winkube.base.clock import Clock

_BEARER: Final = "bearer "
CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"

# As ssl.SSLSocket.getpeercert gives it: relative names of (attribute, value) pairs.
Subject = tuple[tuple[tuple[str, str], ...], ...]


@dataclass(frozen=True, slots=True)
class Peer:
    """Whom a connection's certificate names, and until when."""

    user: User
    until: float


class Authenticator:
    def __init__(self, tokens: TokenAuthority, clock: Clock) -> None:
        self._tokens = tokens
        self._clock = clock
        # A connection's certificate does not change: it is read once.
        self._connections: WeakKeyDictionary[ssl.SSLObject, Peer | None] = WeakKeyDictionary()

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
        connection = transport.get_extra_info("ssl_object") if transport is not None else None
        if connection is None:
            return None
        if connection not in self._connections:
            self._connections[connection] = _peer(connection)
        peer = self._connections[connection]
        if peer is None:
            return None
        if self._clock.now() > peer.until:
            raise UnauthorizedError
        return peer.user


def _peer(connection: ssl.SSLObject) -> "Peer | None":
    cert, encoded = connection.getpeercert(), connection.getpeercert(binary_form=True)
    if not cert or encoded is None:
        return None
    user = user_of_certificate(cast("Subject", cert["subject"]), encoded)
    until = ssl.cert_time_to_seconds(cast("str", cert["notAfter"]))
    return None if user is None else Peer(user, until)


@lru_cache(maxsize=1024)
def user_of_certificate(subject: Subject, encoded: bytes) -> User | None:
    """Who a certificate is for, and which certificate it was (KEP-4631)."""
    user = user_of_subject(subject)
    if user is None:
        return None
    digest = hashlib.sha256(encoded).hexdigest()
    return replace(user, extra={CREDENTIAL: (f"X509SHA256={digest}",)})


@lru_cache(maxsize=1024)
def user_of_subject(subject: Subject) -> User | None:
    """CN is the user, each O a group (upstream's CommonNameUserConversion).

    Of several names the last counts, as for who signs a request: with another one here, a request
    for one's own name would give somebody else's.
    """
    name = ""
    groups: list[str] = []
    for relative in subject:
        for key, value in relative:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return User(name, (*groups, AUTHENTICATED)) if name else None
