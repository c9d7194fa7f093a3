"""Service account tokens for projected volumes: requested per pod, renewed in time."""

from dataclasses import dataclass, field
from typing import Final, Protocol

from winkube.api.errors import ApiError
from winkube.base.clock import Clock, parse_rfc3339
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import SERVICEACCOUNTS, Resource
from winkube.kubelet.pod import identity

_DEFAULT_SECONDS: Final = 3607
# Renew at 80 % of the life or after a day (kubernetes: pkg/kubelet/token).
_RENEW_SHARE: Final = 0.8
_RENEW_AFTER: Final = 24 * 3600.0


class Creator(Protocol):
    async def create(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    renew_at: float
    ends_at: float


@dataclass(slots=True)
class TokenCache:
    client: Creator
    clock: Clock
    _tokens: dict[tuple[str, str, str, int], _Token] = field(default_factory=dict)

    async def get(self, pod: JsonObject, projection: JsonObject) -> str:
        audience = str(projection.get("audience") or "")
        seconds = int(projection.get("expirationSeconds") or _DEFAULT_SECONDS)
        account = pod["spec"].get("serviceAccountName") or "default"
        key = (identity.uid_of(pod), account, audience, seconds)
        token = self._tokens.get(key)
        if token is None or self.clock.now() >= token.renew_at:
            try:
                token = self._tokens[key] = await self._request(pod, account, audience, seconds)
            except (ApiError, TransportError):
                # One that is still good is no reason not to start a container.
                if token is None or self.clock.now() >= token.ends_at:
                    raise
        return token.text

    def forget(self, uid: str) -> None:
        for key in [key for key in self._tokens if key[0] == uid]:
            del self._tokens[key]

    async def _request(self, pod: JsonObject, account: str, audience: str, seconds: int) -> _Token:
        reference = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": identity.name_of(pod),
            "uid": identity.uid_of(pod),
        }
        spec: JsonObject = {"expirationSeconds": seconds, "boundObjectRef": reference}
        spec["audiences"] = [audience] if audience else []
        answer = await self.client.create(
            SERVICEACCOUNTS,
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec},
            namespace=identity.namespace_of(pod),
            name=account,
            subresource="token",
        )
        status, now = answer["status"], self.clock.now()
        ends_at = parse_rfc3339(status["expirationTimestamp"])
        renew_at = now + min((ends_at - now) * _RENEW_SHARE, _RENEW_AFTER)
        return _Token(status["token"], renew_at, ends_at)
