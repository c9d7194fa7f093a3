"""Objects that pods refer to by name: fetched when needed, shared for a short while.

A pod's first look is never older than the pod; refreshes may share an answer for a few seconds.
"""

import base64
from dataclasses import dataclass, field
from typing import Final, Protocol

from winkube.api.errors import NotFoundError
from winkube.base.clock import Clock
from winkube.base.types import JsonObject
from winkube.client.resource import (
    CONFIGMAPS,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    RUNTIMECLASSES,
    SECRETS,
    Resource,
)

SHARED_SECONDS: Final = 5.0
RESOURCES: Final = {
    "configMap": CONFIGMAPS,
    "secret": SECRETS,
    "runtimeClass": RUNTIMECLASSES,
    "persistentVolumeClaim": PERSISTENTVOLUMECLAIMS,
    "persistentVolume": PERSISTENTVOLUMES,
}


class Getter(Protocol):
    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class _Answer:
    found: JsonObject | None
    at: float


@dataclass(slots=True)
class ObjectCache:
    client: Getter
    clock: Clock
    _answers: dict[tuple[str, str, str], _Answer] = field(default_factory=dict)

    async def get(
        self, kind: str, namespace: str, name: str, *, not_before: float | None = None
    ) -> JsonObject | None:
        """The object, None when there is none; ``not_before`` is a monotonic time."""
        key, now = (kind, namespace, name), self.clock.monotonic()
        oldest = max(now - SHARED_SECONDS, not_before if not_before is not None else 0.0)
        answer = self._answers.get(key)
        # Absence is never remembered: somebody waits for the object to appear.
        if answer is None or answer.found is None or answer.at < oldest:
            answer = _Answer(await self._fetch(kind, namespace, name), now)
            self._answers[key] = answer
            self._drop_old(now)
        return answer.found

    async def _fetch(self, kind: str, namespace: str, name: str) -> JsonObject | None:
        try:
            return await self.client.get(RESOURCES[kind], name, namespace=namespace)
        except NotFoundError:
            return None

    def _drop_old(self, now: float) -> None:
        for key in [k for k, answer in self._answers.items() if answer.at < now - SHARED_SECONDS]:
            del self._answers[key]


def decode_secret(secret: JsonObject) -> dict[str, bytes]:
    return {key: base64.b64decode(text or "") for key, text in (secret.get("data") or {}).items()}
