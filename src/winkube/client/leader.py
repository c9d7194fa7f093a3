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
from typing import Final

from winkube.aio.backoff import Backoff
from winkube.api.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from winkube.base.clock import Clock, SystemClock, to_rfc3339_micro
from winkube.base.types import JsonObject
from winkube.client.errors import LeadershipLostError, TransportError
from winkube.client.events import EventRecorder
from winkube.client.resource import LEASES
from winkube.client.rest import ApiClient

_LEASE: Final = {"apiVersion": LEASES.api_version, "kind": "Lease"}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaderConfig:
    name: str
    identity: str
    # Who says in an event that there is a new leader.
    component: str
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
        # The lease as we last wrote it: who holds it need not ask before renewing.
        self._held: JsonObject | None = None

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Lead whenever we hold the lease: run ``lead``, and cancel it when the lease is lost."""
        while True:
            await self._acquire()
            log.info("leading", extra={"lease": self._config.name, "who": self._config.identity})
            self.leading = True
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._tell(), name=f"tell {self._config.name}")
                    group.create_task(_forever(lead), name=f"lead {self._config.name}")
                    group.create_task(self._renew(), name=f"renew {self._config.name}")
            except* LeadershipLostError:
                log.warning("lost leadership", extra={"lease": self._config.name})
            finally:
                self.leading = False

    async def _tell(self) -> None:
        """Say on the lease who leads now, as far as the server lets us."""
        recorder = EventRecorder(self._client, self._config.component, clock=self._clock)
        text = f"{self._config.identity} became leader"
        about = {**_LEASE, "metadata": (self._held or {}).get("metadata") or self._named()}
        recorder.record(about, "Normal", "LeaderElection", text)
        await recorder.run()

    async def release(self) -> None:
        """Give the lease back so that the next candidate need not wait for it to run out."""
        lease = await self._client.get(LEASES, self._config.name, namespace=self._config.namespace)
        if lease["spec"].get("holderIdentity") == self._config.identity:
            spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
            await self._client.update(LEASES, {**lease, "spec": spec})

    async def _acquire(self) -> None:
        # A server that starts beside us is there in a moment; a leader holds on for longer.
        pauses, failures = Backoff(0.05, 1.5, self._config.retry_seconds), 0
        while not await self._try(self._config.renew_seconds):
            failures += 1
            await asyncio.sleep(pauses.delay(failures))

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
        held, self._held = self._held, None
        try:
            async with asyncio.timeout(seconds):
                self._held = await self._take() if held is None else await self._renewed(held)
        except (ConflictError, AlreadyExistsError):
            return False
        except (ApiError, TransportError, TimeoutError) as error:
            log.debug("lease not renewed", extra={"error": str(error)})
            return False
        return self._held is not None

    async def _renewed(self, held: JsonObject) -> JsonObject:
        spec = {**held["spec"], "renewTime": to_rfc3339_micro(self._clock.now())}
        return await self._client.update(LEASES, {**held, "spec": spec})

    async def _take(self) -> JsonObject | None:
        """The lease, once it is ours."""
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
            body = {**_LEASE, "metadata": self._named(), "spec": spec}
            return await self._client.create(LEASES, body, namespace=config.namespace)
        held = lease.get("spec") or {}
        if held.get("holderIdentity") == config.identity:
            spec["acquireTime"] = held.get("acquireTime") or now
            spec["leaseTransitions"] = held.get("leaseTransitions") or 0
        elif not self._vacant(lease):
            return None
        else:
            spec["leaseTransitions"] = (held.get("leaseTransitions") or 0) + 1
        return await self._client.update(LEASES, {**lease, "spec": spec})

    def _named(self) -> JsonObject:
        return {"name": self._config.name, "namespace": self._config.namespace}

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
