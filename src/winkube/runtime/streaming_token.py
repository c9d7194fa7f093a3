"""One-time tokens: each stands for one promised session, for a minute, once."""

import secrets
from typing import Final, Generic, TypeVar

from winkube.base.clock import Clock
from winkube.wire.remotecommand import StreamRequestError

LIFE_SECONDS: Final = 60.0
MAX_TOKENS: Final = 1000

Promise = TypeVar("Promise")


class Tokens(Generic[Promise]):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # In order of issue, hence of expiry.
        self._promises: dict[str, tuple[float, Promise]] = {}

    def issue(self, promise: Promise) -> str:
        self._expire()
        if len(self._promises) >= MAX_TOKENS:
            raise StreamRequestError("maximum number of in-flight requests exceeded")
        token = secrets.token_urlsafe(16)
        self._promises[token] = (self._clock.monotonic() + LIFE_SECONDS, promise)
        return token

    def redeem(self, token: str) -> Promise | None:
        self._expire()
        found = self._promises.pop(token, None)
        return found[1] if found else None

    def _expire(self) -> None:
        now = self._clock.monotonic()
        while self._promises:
            token, (deadline, _) = next(iter(self._promises.items()))
            if deadline > now:
                return
            del self._promises[token]
