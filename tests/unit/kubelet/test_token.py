"""Tokens of pods: renewed in time, and used on while they are good."""

from collections.abc import Callable

import pytest

from winkube.api.errors import UnavailableError
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import Resource
from winkube.kubelet.volume.token import TokenCache
from winkube.testing.fake_clock import FakeClock

LIFE = 3600.0


class Issuer:
    def __init__(self, clock: FakeClock) -> None:
        self.refuses = False
        self.issued = 0
        self._clock = clock

    async def create(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        if self.refuses:
            raise UnavailableError("not now")
        self.issued += 1
        ends = to_rfc3339(self._clock.now() + LIFE)
        return {"status": {"token": f"token-{self.issued}", "expirationTimestamp": ends}}


async def test_token_is_used_on_while_it_is_good_and_no_other_can_be_had(
    pod_of: Callable[..., JsonObject],
) -> None:
    clock = FakeClock()
    issuer = Issuer(clock)
    tokens, pod = TokenCache(issuer, clock), pod_of()
    assert await tokens.get(pod, {}) == "token-1"
    clock.advance(LIFE * 0.9)
    issuer.refuses = True
    assert await tokens.get(pod, {}) == "token-1"
    clock.advance(LIFE * 0.2)
    with pytest.raises(UnavailableError):
        await tokens.get(pod, {})
    issuer.refuses = False
    assert await tokens.get(pod, {}) == "token-2"
