"""Leader election on a Lease.

A candidate takes the lease when nobody holds it or its holder has not renewed it for the lease's
duration *by our own clock* since we last saw it change; clocks of different machines are never
compared (client-go: tools/leaderelection). A leader that cannot renew in time stops leading before
anyone else may start.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from winkube.api.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from winkube.base.clock import Clock, SystemClock, to_rfc3339_micro
from winkube.base.types import JsonObject
from winkube.client.errors import LeadershipLostError, TransportError
from winkube.client.resource import LEASES
from winkube.client.rest import ApiClient

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaderConfig:
    name: str
    identity: str
    namespace: str = "kube-system"
    lease_seconds: int = 15
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0


class LeaderElector:
    def __init__(
        self, client: ApiClient, config: LeaderConfig, *, clock: Clock | None = None
    ) -> None:
        self.leading = False
        self._client = client
        self._config = config
        self._clock: Clock = clock or SystemClock()
        self._seen: tuple[str, float] | None = None

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Lead whenever we hold the lease: run ``lead``, and cancel it when the lease is lost."""
        while True:
            await self._acquire()
            log.info("leading", extra={"lease": self._config.name, "who": self._config.identity})
            self.leading = True
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_forever(lead), name=f"lead {self._config.name}")
                    group.create_task(self._renew(), name=f"renew {self._config.name}")
            except* LeadershipLostError:
                log.warning("lost leadership", extra={"lease": self._config.name})
            finally:
                self.leading = False

    async def release(self) -> None:
        """Give the lease back so that the next candidate need not wait for it to run out."""
        lease = await self._client.get(LEASES, self._config.name, namespace=self._config.namespace)
        if lease["spec"].get("holderIdentity") == self._config.identity:
            spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
            await self._client.update(LEASES, {**lease, "spec": spec})

    async def _acquire(self) -> None:
        while True:
            if await self._try(self._config.renew_seconds):
                return
            await asyncio.sleep(self._config.retry_seconds)

    async def _renew(self) -> None:
        """Until it fails for too long, counted from the beginning of the last request that did not.

        A request that hangs is given no more than the time that is left: the lease may run out.
        """
        deadline = self._clock.monotonic() + self._config.renew_seconds
        while self._clock.monotonic() < deadline:
            await asyncio.sleep(self._config.retry_seconds)
            began = self._clock.monotonic()
            if began < deadline and await self._try(deadline - began):
                deadline = began + self._config.renew_seconds
        raise LeadershipLostError(self._config.name)

    async def _try(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._take_or_renew()
        except (ConflictError, AlreadyExistsError):
            return False
        except (ApiError, TransportError, TimeoutError) as error:
            log.debug("lease not renewed", extra={"error": str(error)})
            return False

    async def _take_or_renew(self) -> bool:
        config, now = self._config, to_rfc3339_micro(self._clock.now())
        spec: JsonObject = {
            "holderIdentity": config.identity,
            "leaseDurationSeconds": config.lease_seconds,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        }
        try:
            lease = await self._client.get(LEASES, config.name, namespace=config.namespace)
        except NotFoundError:
            metadata = {"name": config.name, "namespace": config.namespace}
            body = {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": metadata}
            await self._client.create(LEASES, {**body, "spec": spec}, namespace=config.namespace)
            return True
        held = lease.get("spec") or {}
        if held.get("holderIdentity") == config.identity:
            spec["acquireTime"] = held.get("acquireTime") or now
            spec["leaseTransitions"] = held.get("leaseTransitions") or 0
        elif not self._vacant(lease):
            return False
        else:
            spec["leaseTransitions"] = (held.get("leaseTransitions") or 0) + 1
        await self._client.update(LEASES, {**lease, "spec": spec})
        return True

    def _vacant(self, lease: JsonObject) -> bool:
        held, version = lease.get("spec") or {}, lease["metadata"].get("resourceVersion", "")
        if not held.get("holderIdentity"):
            return True
        if self._seen is None or self._seen[0] != version:
            self._seen = (version, self._clock.monotonic())
        duration = held.get("leaseDurationSeconds") or self._config.lease_seconds
        return self._clock.monotonic() - self._seen[1] > float(duration)


async def _forever(lead: Callable[[], Awaitable[None]]) -> None:
    await lead()
