"""When tokens from Secrets were last used: a date on the Secret, and since when dates are kept.

Administrators find by it which of these tokens, which never expire, nobody needs (KEP-2799).
"""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Final

from winkube.api.errors import AlreadyExistsError, ApiError
from winkube.apiserver.auth.token import TokenAuthority
from winkube.apiserver.auth.user import SELF
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.registry.create import create
from winkube.apiserver.registry.update import store_update

log = logging.getLogger(__name__)

LABEL: Final = "kubernetes.io/legacy-token-last-used"
CONFIG_MAP: Final = "kube-apiserver-legacy-service-account-token-tracking"
_NAMESPACE: Final = "kube-system"
_PAUSE: Final = 1.0


class LegacyTokenTracking:
    def __init__(self, registry: Registry, tokens: TokenAuthority) -> None:
        self._registry = registry
        self._tokens = tokens
        self._secrets = registry.resources.core("secrets")

    async def run(self) -> None:
        while True:
            try:
                await self._ensure_since()
                while self._tokens.used:
                    await self._mark(*self._tokens.used.pop())
            except ApiError as error:
                log.warning("cannot write down the use of a token", extra={"error": str(error)})
            await asyncio.sleep(_PAUSE)

    def _today(self) -> datetime:
        return datetime.fromtimestamp(self._registry.clock.now(), UTC)

    async def _ensure_since(self) -> None:
        served = self._registry.resources.core("configmaps")
        if served.cache.get(served.key(_NAMESPACE, CONFIG_MAP)) is not None:
            return
        obj = {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": CONFIG_MAP},
            "data": {"since": f"{self._today():%Y-%m-%d}"},
        }
        try:
            await create(self._registry, served, _NAMESPACE, obj, WriteOptions(SELF))
        except AlreadyExistsError:
            return

    async def _mark(self, namespace: str, name: str) -> None:
        item = self._secrets.cache.get(self._secrets.key(namespace, name))
        if item is None:
            return
        secret, today = item.load(), self._today()
        labels = secret["metadata"].get("labels") or {}
        # Another server may be a day ahead.
        near = {f"{day:%Y-%m-%d}" for day in (today, today + timedelta(days=1))}
        if labels.get(LABEL) not in near:
            fresh = {**labels, LABEL: f"{today:%Y-%m-%d}"}
            changed = {**secret, "metadata": {**secret["metadata"], "labels": fresh}}
            await store_update(self._registry, self._secrets, item, changed, WriteOptions(SELF))
