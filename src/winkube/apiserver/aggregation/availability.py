"""Whether the servers behind APIServices answer: their Available condition, and their discovery.

Looked at when something changes that decides it, and from time to time.
"""

import asyncio
import copy
import logging
from dataclasses import dataclass
from typing import Final

import aiohttp

from winkube.api.errors import ApiError, NotFoundError
from winkube.api.meta import set_condition
from winkube.apiserver.aggregation.backend import Backends
from winkube.apiserver.aggregation.local import GROUP, local_services
from winkube.apiserver.aggregation.remote import (
    AVAILABLE,
    Remote,
    Remotes,
    endpoints,
    port_name,
)
from winkube.apiserver.aggregation.trust import NAME, NAMESPACE
from winkube.apiserver.auth.user import SELF
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.registry.create import create
from winkube.apiserver.registry.update import STATUS, update
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

log = logging.getLogger(__name__)

_TICK_SECONDS: Final = 1.0
_CHECK_SECONDS: Final = 30.0
# A server that starts up is asked often at first.
_RETRY_SECONDS: Final = 1.0
_RETRIES: Final = 20
# A starting cluster has better things to do than to list what it serves.
_REGISTRATION_DELAY: Final = 3.0
# Whom upstream names as the writer of its verdicts.
_MANAGER: Final = "kube-apiserver"


@dataclass(slots=True)
class _Known:
    fingerprint: tuple[object, ...]
    due: float
    failures: int = 0


@dataclass(frozen=True, slots=True)
class _Verdict:
    status: str
    reason: str
    message: str


_PASSED: Final = _Verdict("True", "Passed", "all checks passed")


class Availability:
    def __init__(
        self,
        registry: Registry,
        remotes: Remotes,
        backends: Backends,
        trust: JsonObject | None = None,
    ) -> None:
        self._registry = registry
        self._remotes = remotes
        self._backends = backends
        self._trust = trust
        self._known: dict[str, _Known] = {}
        # Resource lists by APIService, and a number that changes with them.
        self.resources: dict[str, JsonObject] = {}
        self.revision = 0

    async def run(self) -> None:
        began, registered = self._registry.clock.monotonic(), False
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            try:
                if not registered and self._now() - began > _REGISTRATION_DELAY:
                    await self._register()
                    registered = True
                await self._ensure_trust()
                await self.look()
            except ApiError as error:  # a write that lost a race is done again
                log.debug("availability not written", extra={"error": str(error)})

    def _now(self) -> float:
        return self._registry.clock.monotonic()

    async def _register(self) -> None:
        """The groups we answer for ourselves are APIServices too."""
        served = self._registry.resources.require(GROUP, "v1", "apiservices")
        for obj in local_services(self._registry.resources.kinds):
            if served.cache.get(served.key("", obj["metadata"]["name"])) is None:
                await create(self._registry, served, "", obj, WriteOptions(SELF))

    async def _ensure_trust(self) -> None:
        served = self._registry.resources.core("configmaps")
        if self._trust is None or served.cache.get(served.key(NAMESPACE, NAME)) is not None:
            return
        made = copy.deepcopy(self._trust)
        await create(self._registry, served, NAMESPACE, made, WriteOptions(SELF))

    async def look(self) -> None:
        """Check what has changed or is due."""
        remotes = self._remotes.all()
        names = {remote.name for remote in remotes}
        for gone in self._known.keys() - names:
            del self._known[gone]
            self.resources.pop(gone, None)
            self.revision += 1
        for remote in remotes:
            # Its own verdict is part of what is known about it, and no news.
            seen = (*self._remotes.fingerprint(remote)[1:], *_address(remote))
            known = self._known.get(remote.name)
            if known is not None and known.fingerprint == seen and self._now() < known.due:
                continue
            fresh = known is None or known.fingerprint != seen
            failures = 0 if fresh or known is None else known.failures
            if known is None:
                self.revision += 1
            verdict = await self._judge(remote)
            failures = 0 if verdict is _PASSED else failures + 1
            wait = _RETRY_SECONDS if 0 < failures <= _RETRIES else _CHECK_SECONDS
            self._known[remote.name] = _Known(seen, self._now() + wait, failures)
            await self._write(remote, verdict)

    async def _judge(self, remote: Remote) -> _Verdict:
        place = f'service/{remote.service} in "{remote.namespace}"'
        try:
            service = self._remotes.service(remote)
        except NotFoundError:
            return _Verdict("False", "ServiceNotFound", f"{place} is not present")
        if service["spec"].get("type", "ClusterIP") == "ClusterIP":
            fault = self._endpoint_fault(remote, service, place)
            if fault is not None:
                return fault
        try:
            document = await self._backends.fetch(remote, remote.path)
        except ApiError as error:
            return _Verdict("False", "FailedDiscoveryCheck", str(error))
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            return _Verdict("False", "FailedDiscoveryCheck", self._words(remote, error))
        if self.resources.get(remote.name) != document:
            self.resources[remote.name] = document
            self.revision += 1
        return _PASSED

    def _endpoint_fault(self, remote: Remote, service: JsonObject, place: str) -> _Verdict | None:
        name = port_name(service, remote.port)
        if name is None:
            words = f"{place} is not listening on port {remote.port}"
            return _Verdict("False", "ServicePortError", words)
        slices = self._remotes.slices(remote)
        if not slices:
            words = f"cannot find endpointslices for {place}"
            return _Verdict("False", "EndpointsNotFound", words)
        if not endpoints(slices, name):
            words = f'endpointslices for {place} have no addresses with port name "{name}"'
            return _Verdict("False", "MissingEndpoints", words)
        return None

    def _words(self, remote: Remote, error: Exception) -> str:
        try:
            host, port = self._remotes.resolve(remote)
        except ApiError as missing:
            return str(missing)
        url = f"https://{host}:{port}{remote.path}"
        if isinstance(error, aiohttp.ClientResponseError):
            said = f"bad status from {url}: {error.status}"
        elif isinstance(error, TimeoutError):
            said = f'Get "{url}": context deadline exceeded'
        else:
            said = f'Get "{url}": {error}'
        return f"failing or missing response from {url}: {said}"

    async def _write(self, remote: Remote, verdict: _Verdict) -> None:
        served = self._registry.resources.require(GROUP, "v1", "apiservices")
        item = served.cache.get(served.key("", remote.name))
        if item is None:
            return
        obj = item.load()
        condition = {
            "type": AVAILABLE,
            "status": verdict.status,
            "reason": verdict.reason,
            "message": verdict.message,
        }
        if set_condition(obj, condition, to_rfc3339(self._registry.clock.now())):
            self.revision += 1
            options = WriteOptions(SELF, field_manager=_MANAGER)
            await update(self._registry, served, item, obj, options, STATUS)


def _address(remote: Remote) -> tuple[object, ...]:
    return remote.namespace, remote.service, remote.port, remote.ca, remote.insecure
