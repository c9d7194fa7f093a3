"""Bound service-account tokens: signed and checked here, valid while what they name lives.

Claims are upstream's (k8s.io/kubernetes: pkg/serviceaccount/claims.go), so that other verifiers,
reading our key set, accept them.
"""

import base64
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from winkube.apiserver.auth.user import User, service_account_user
from winkube.base.clock import Clock
from winkube.base.errors import WinkubeError
from winkube.base.ids import new_uid
from winkube.base.types import JsonObject

_CACHE_SIZE: Final = 4096
_PRIVATE: Final = "kubernetes.io"

# (plural, namespace, name) -> uid of the living object, or None.
Lookup = Callable[[str, str, str], str | None]


class InvalidTokenError(WinkubeError):
    pass


@dataclass(frozen=True, slots=True)
class Binding:
    """What a token says about itself beyond the account: ``ref`` is (kind, name, uid)."""

    namespace: str
    account: tuple[str, str]  # name, uid
    pod: tuple[str, str] | None = None
    node: tuple[str, str] | None = None
    secret: tuple[str, str] | None = None

    def to_claim(self) -> JsonObject:
        claim: JsonObject = {"namespace": self.namespace, "serviceaccount": _ref(self.account)}
        for name in ("pod", "node", "secret"):
            value = getattr(self, name)
            if value is not None:
                claim[name] = _ref(value)
        return claim


def _ref(value: tuple[str, str]) -> JsonObject:
    return {"name": value[0], "uid": value[1]}


class TokenAuthority:
    def __init__(self, key_pem: bytes, issuer: str, clock: Clock, lookup: Lookup) -> None:
        key = serialization.load_pem_private_key(key_pem, None)
        if not isinstance(key, rsa.RSAPrivateKey):
            raise WinkubeError("the service-account key must be an RSA private key")
        self._key = key
        self._public = key.public_key()
        self._issuer = issuer
        self._clock = clock
        self._lookup = lookup
        self._verified: OrderedDict[bytes, JsonObject] = OrderedDict()
        der = self._public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self._key_id = _b64(hashlib.sha256(der).digest())

    @property
    def issuer(self) -> str:
        return self._issuer

    def issue(self, binding: Binding, audiences: Sequence[str], seconds: int) -> tuple[str, float]:
        """A token and when it expires."""
        now = int(self._clock.now())
        name = f"system:serviceaccount:{binding.namespace}:{binding.account[0]}"
        claims = {
            "aud": list(audiences) or [self._issuer],
            "exp": now + seconds,
            "iat": now,
            "nbf": now,
            "iss": self._issuer,
            "jti": new_uid(),
            "sub": name,
            _PRIVATE: binding.to_claim(),
        }
        token = jwt.encode(claims, self._key, "RS256", headers={"kid": self._key_id})
        return token, float(now + seconds)

    def verify(self, token: str, audiences: Sequence[str] = ()) -> tuple[User, list[str]]:
        """The account behind the token, and the audiences it shares with those asked for."""
        claims = self._claims(token)
        wanted = list(audiences) or [self._issuer]
        shared = [audience for audience in wanted if audience in claims.get("aud", [])]
        if not shared:
            raise InvalidTokenError("token audiences do not match")
        now = self._clock.now()
        if now >= claims["exp"] or now + 10 < claims.get("nbf", 0):
            raise InvalidTokenError("service account token has expired")
        return self._account(claims), shared

    def _claims(self, token: str) -> JsonObject:
        if not token.isascii():
            raise InvalidTokenError("a token has no such characters")
        digest = hashlib.sha256(token.encode()).digest()
        known = self._verified.get(digest)
        if known is not None:
            self._verified.move_to_end(digest)
            return known
        options: Any = {
            "verify_aud": False,
            "verify_exp": False,
            "verify_nbf": False,
            "verify_iat": False,
        }
        try:
            claims: JsonObject = jwt.decode(
                token, self._public, ["RS256"], options=options, issuer=self._issuer
            )
        except jwt.PyJWTError as error:
            raise InvalidTokenError(str(error)) from error
        self._verified[digest] = claims
        if len(self._verified) > _CACHE_SIZE:
            self._verified.popitem(last=False)
        return claims

    def _account(self, claims: JsonObject) -> User:
        private = claims.get(_PRIVATE) or {}
        namespace = private.get("namespace", "")
        account = private.get("serviceaccount") or {}
        self._require("serviceaccounts", namespace, account)
        extra: dict[str, tuple[str, ...]] = {}
        if claims.get("jti"):
            extra["authentication.kubernetes.io/credential-id"] = (f"JTI={claims['jti']}",)
        for claim, plural in (("pod", "pods"), ("secret", "secrets")):
            if claim in private:
                self._require(plural, namespace, private[claim])
        if "node" in private and "pod" not in private:
            self._require("nodes", "", private["node"])
        for claim in ("pod", "node"):
            for part in ("name", "uid"):
                value = (private.get(claim) or {}).get(part)
                if value:
                    extra[f"authentication.kubernetes.io/{claim}-{part}"] = (value,)
        user = service_account_user(namespace, account["name"], account["uid"])
        return replace(user, extra=extra)

    def _require(self, plural: str, namespace: str, ref: JsonObject) -> None:
        name, uid = ref.get("name", ""), ref.get("uid", "")
        if not uid or self._lookup(plural, namespace, name) != uid:
            raise InvalidTokenError(f"{plural} {namespace}/{name} of the token is gone")

    def key_set(self) -> JsonObject:
        """The JSON Web Key Set published for other verifiers."""
        numbers = self._public.public_numbers()
        return {
            "keys": [
                {
                    "use": "sig",
                    "kty": "RSA",
                    "kid": self._key_id,
                    "alg": "RS256",
                    "n": _b64(numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")),
                    "e": _b64(numbers.e.to_bytes((numbers.e.bit_length() + 7) // 8, "big")),
                }
            ]
        }


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
