"""Bound service-account tokens: signed and checked here, valid while what they name lives.

Claims are upstream's (k8s.io/kubernetes: pkg/serviceaccount/claims.go), so that other verifiers,
reading our key set, accept them. Tokens kept in Secrets have an issuer and claims of their own.
"""

import base64
import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from winkube.api.go.text import quoted_list
from winkube.apiserver.auth.user import User, service_account_user
from winkube.base.clock import Clock, parse_rfc3339
from winkube.base.errors import WinkubeError
from winkube.base.ids import new_uid
from winkube.base.types import JsonObject

_CACHE_SIZE: Final = 4096
_PRIVATE: Final = "kubernetes.io"

_LEGACY_ISSUER: Final = "kubernetes/serviceaccount"
_LEGACY: Final = "kubernetes.io/serviceaccount/"
# What is being deleted stays valid this long (and clocks may differ this much).
_LEEWAY: Final = 60.0

# (plural, namespace, name) -> the stored object, or None.
Lookup = Callable[[str, str, str], JsonObject | None]


class InvalidTokenError(WinkubeError):
    pass


class ForeignTokenError(InvalidTokenError):
    """Nothing this server has signed; there is nothing to say about it."""


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
        # Our own file: to prove its primes once more would take half of the time until we serve.
        key = serialization.load_pem_private_key(key_pem, None, unsafe_skip_rsa_key_validation=True)
        if not isinstance(key, rsa.RSAPrivateKey):
            raise WinkubeError("the service-account key must be an RSA private key")
        self._key = key
        self._public = key.public_key()
        self._issuer = issuer
        self._clock = clock
        self._lookup = lookup
        # Secrets whose tokens were used since somebody looked; whoever writes it down empties it.
        self.used: set[tuple[str, str]] = set()
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
        token = jwt.encode(claims, self._key, "RS256", headers={"kid": self._key_id, "typ": ""})
        return token, float(now + seconds)

    def verify(self, token: str, audiences: Sequence[str] = ()) -> tuple[User, list[str]]:
        """The account behind the token, and the audiences it shares with those asked for."""
        claims = self._claims(token)
        wanted = list(audiences) or [self._issuer]
        held = claims.get("aud") or [self._issuer]
        shared = [audience for audience in held if audience in wanted]
        if not shared:
            raise InvalidTokenError(
                f"token audiences {quoted_list(held)} is invalid for the target audiences "
                f"{quoted_list(wanted)}"
            )
        if claims["iss"] == _LEGACY_ISSUER:
            return self._legacy_account(claims, token), shared
        self._check_times(claims)
        return self._account(claims), shared

    def _check_times(self, claims: JsonObject) -> None:
        now = self._clock.now()
        if now - _LEEWAY > claims["exp"]:
            raise InvalidTokenError("service account token has expired")
        if now + _LEEWAY < claims.get("nbf", 0):
            raise InvalidTokenError("service account token is not valid yet")

    def _claims(self, token: str) -> JsonObject:
        if not token.isascii():
            raise ForeignTokenError("a token has no such characters")
        digest = hashlib.sha256(token.encode()).digest()
        known = self._verified.get(digest)
        if known is not None:
            self._verified.move_to_end(digest)
            return known
        if _issuer_of(token) not in (self._issuer, _LEGACY_ISSUER):
            raise ForeignTokenError("the token has another issuer")
        options: Any = {
            "verify_aud": False,
            "verify_exp": False,
            "verify_nbf": False,
            "verify_iat": False,
        }
        try:
            claims: JsonObject = jwt.decode(token, self._public, ["RS256"], options=options)
        except jwt.InvalidSignatureError as error:
            raise InvalidTokenError("go-jose/go-jose: error in cryptographic primitive") from error
        except jwt.PyJWTError as error:
            raise ForeignTokenError(str(error)) from error
        self._verified[digest] = claims
        if len(self._verified) > _CACHE_SIZE:
            self._verified.popitem(last=False)
        return claims

    def _account(self, claims: JsonObject) -> User:
        private = claims.get(_PRIVATE) or {}
        namespace = private.get("namespace", "")
        account = private.get("serviceaccount") or {}
        self._require_account(namespace, account)
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

    def _require_account(self, namespace: str, ref: JsonObject) -> JsonObject:
        name, uid = ref.get("name", ""), ref.get("uid", "")
        found = self._lookup("serviceaccounts", namespace, name)
        if found is None:
            raise InvalidTokenError(f'serviceaccounts "{name}" not found')
        metadata = found["metadata"]
        if metadata["uid"] != uid:
            raise InvalidTokenError(
                f"service account UID ({metadata['uid']}) does not match claim ({uid})"
            )
        if self._is_deleted(metadata):
            raise InvalidTokenError(f"service account {namespace}/{name} has been deleted")
        return found

    def _require(self, plural: str, namespace: str, ref: JsonObject) -> None:
        found = self._lookup(plural, namespace, ref.get("name", ""))
        if found is None or self._is_deleted(found["metadata"]):
            raise InvalidTokenError("service account token has been invalidated")
        uid, kind = found["metadata"]["uid"], plural.removesuffix("s")
        if uid != ref.get("uid"):
            raise InvalidTokenError(
                f"{kind} UID ({uid}) does not match service account {kind} ref claim "
                f"({ref.get('uid', '')})"
            )

    def _is_deleted(self, metadata: JsonObject) -> bool:
        since = metadata.get("deletionTimestamp")
        return since is not None and parse_rfc3339(since) < self._clock.now() - _LEEWAY

    def _legacy_account(self, claims: JsonObject, token: str) -> User:
        """A token from a Secret: as good as the Secret that holds it."""
        namespace, secret = claims.get(_LEGACY + "namespace"), claims.get(_LEGACY + "secret.name")
        name = claims.get(_LEGACY + "service-account.name", "")
        uid = claims.get(_LEGACY + "service-account.uid", "")
        if not isinstance(namespace, str) or not isinstance(secret, str):
            raise InvalidTokenError("namespace claim is missing")
        found = self._lookup("secrets", namespace, secret)
        if found is None or found["metadata"].get("deletionTimestamp"):
            raise InvalidTokenError("Token has been invalidated")
        stored = base64.b64decode((found.get("data") or {}).get("token") or "")
        if not hmac.compare_digest(stored, token.encode()):
            raise InvalidTokenError("Token does not match server's copy")
        self._require_account(namespace, {"name": name, "uid": uid})
        since = "kubernetes.io/legacy-token-invalid-since"
        if (found["metadata"].get("labels") or {}).get(since):
            raise InvalidTokenError(
                f"the token in secret {namespace}/{secret} for service account {namespace}/{name} "
                "has been marked invalid. Use tokens from the TokenRequest API or manually created "
                f"secret-based tokens, or remove the '{since}' label from the secret to "
                "temporarily allow use of this token"
            )
        self.used.add((namespace, secret))
        return service_account_user(namespace, name, uid)

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


def _issuer_of(token: str) -> str:
    """What a token says, not yet verified; what is no token has no issuer."""
    try:
        claims = jwt.decode(token, options={"verify_signature": False})
    except jwt.PyJWTError as error:
        raise ForeignTokenError(str(error)) from error
    return str(claims.get("iss", ""))


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
