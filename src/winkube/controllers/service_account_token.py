"""Tokens in Secrets: filled in for the service account they name, removed together with it.

These tokens never expire and are valid while their Secret lives; programs that run outside the
cluster still ask for them. Their claims: k8s.io/kubernetes pkg/serviceaccount/legacy.go.
"""

import base64
import hashlib
from typing import Final

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from winkube.api.errors import NotFoundError
from winkube.api.meta import annotations_of, key_of, name_of, namespace_of, uid_of
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.client.resource import SECRETS, SERVICEACCOUNTS
from winkube.controllers.controller import Context, Controller

TYPE: Final = "kubernetes.io/service-account-token"
NAME: Final = "kubernetes.io/service-account.name"
UID: Final = "kubernetes.io/service-account.uid"
ISSUER: Final = "kubernetes/serviceaccount"
_ACCOUNT: Final = "account"
_NAMING: Final = "named secrets"


def is_token_of(secret: JsonObject, account: JsonObject) -> bool:
    said = annotations_of(secret)
    same = said.get(NAME) == name_of(account) and namespace_of(secret) == namespace_of(account)
    return same and said.get(UID, "") in ("", uid_of(account))


def plan_data(secret: JsonObject, root_ca: bytes) -> dict[str, str]:
    """What is missing besides the token itself, as it is stored (base64)."""
    data = secret.get("data") or {}
    wanted: dict[str, str] = {}
    authority = base64.b64encode(root_ca).decode()
    if root_ca and data.get("ca.crt") != authority:
        wanted["ca.crt"] = authority
    if not data.get("namespace"):
        wanted["namespace"] = base64.b64encode(namespace_of(secret).encode()).decode()
    return wanted


def make_token(key_pem: bytes, account: JsonObject, secret: JsonObject) -> str:
    # Our own file, and read for every token: its primes need no proof each time.
    key = serialization.load_pem_private_key(key_pem, None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise WinkubeError("the service-account key must be an RSA private key")
    public = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    digest = base64.urlsafe_b64encode(hashlib.sha256(public).digest()).rstrip(b"=").decode()
    namespace, name = namespace_of(account), name_of(account)
    claims = {
        "iss": ISSUER,
        "kubernetes.io/serviceaccount/namespace": namespace,
        "kubernetes.io/serviceaccount/secret.name": name_of(secret),
        "kubernetes.io/serviceaccount/service-account.name": name,
        "kubernetes.io/serviceaccount/service-account.uid": uid_of(account),
        "sub": f"system:serviceaccount:{namespace}:{name}",
    }
    return jwt.encode(claims, key, "RS256", headers={"kid": digest, "typ": ""})


class ServiceAccountTokenController(Controller):
    """Keys are of secrets; a secret that is gone may still be named by its account."""

    name = "serviceaccount-token-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._accounts = self.informer(SERVICEACCOUNTS)
        self._accounts.add_index(_NAMING, _named_secrets)
        self._secrets = self.informer(SECRETS)
        self._secrets.add_index(_ACCOUNT, _account_keys)
        self._secrets.on_change(self._secret_changed)
        self._accounts.on_change(self._account_changed)

    def _secret_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if (new or old or {}).get("type") == TYPE:
            self.queue.add(key)

    def _account_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        gone = new is None or (old is not None and uid_of(old) != uid_of(new))
        if gone:
            for secret in self._secrets.by_index(_ACCOUNT, key):
                self.queue.add(key_of(secret))

    async def reconcile(self, key: str) -> None:
        secret = self._secrets.get(key)
        if secret is None:
            await self._forget(key)
            return
        if secret.get("type") != TYPE:
            return
        account = await self._account(secret)
        if account is None:
            await self.remove(SECRETS, secret)
        else:
            await self._fill(secret, account)

    async def _account(self, secret: JsonObject) -> JsonObject | None:
        """The living account; asked for by name when the cache does not have it yet."""
        namespace, name = namespace_of(secret), annotations_of(secret).get(NAME, "")
        found = self._accounts.get(f"{namespace}/{name}")
        if found is None or not is_token_of(secret, found):
            try:
                found = await self.client.get(SERVICEACCOUNTS, name, namespace=namespace)
            except NotFoundError:
                return None
        return found if is_token_of(secret, found) else None

    async def _fill(self, secret: JsonObject, account: JsonObject) -> None:
        path = self.context.config.service_account_key
        data = plan_data(secret, self.context.config.root_ca)
        if path is not None and not (secret.get("data") or {}).get("token"):
            token = make_token(path.read_bytes(), account, secret)
            data["token"] = base64.b64encode(token.encode()).decode()
        if not data:
            return
        metadata = secret["metadata"]
        said = {**annotations_of(secret), NAME: name_of(account), UID: uid_of(account)}
        fresh = {
            **secret,
            "metadata": {**metadata, "annotations": said},
            "data": {**(secret.get("data") or {}), **data},
        }
        try:
            await self.client.update(SECRETS, fresh)
        except NotFoundError:
            return

    async def _forget(self, key: str) -> None:
        name = key.partition("/")[2]
        for account in self._accounts.by_index(_NAMING, key):
            kept = [each for each in account["secrets"] if each.get("name") != name]
            await self.client.update(SERVICEACCOUNTS, {**account, "secrets": kept})


def _account_keys(secret: JsonObject) -> list[str]:
    if secret.get("type") != TYPE:
        return []
    return [f"{namespace_of(secret)}/{annotations_of(secret).get(NAME, '')}"]


def _named_secrets(account: JsonObject) -> list[str]:
    namespace = namespace_of(account)
    return [f"{namespace}/{each.get('name')}" for each in account.get("secrets") or ()]
