"""Pod sandboxes: on Windows a sandbox is a network compartment; no process has to hold it."""

import asyncio
import contextlib
import logging
import secrets
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from winkube.base.clock import Clock
from winkube.base.errors import WinkubeError
from winkube.runtime.account import WRONG_NAME, find_account
from winkube.runtime.config import RuntimeConfig
from winkube.runtime.errors import (
    InvalidArgumentError,
    NotFoundError,
    SandboxStartError,
    UnsupportedError,
)
from winkube.runtime.lifecycle import end_group
from winkube.runtime.network import PodNetwork
from winkube.runtime.state import Records, Sandbox, SandboxState, pack
from winkube.wire import cri

log = logging.getLogger(__name__)

# What the CRI plugin of containerd calls the handlers of process isolation on Windows.
_HANDLERS: Final = frozenset({"", "runhcs-wcow-process", "winkube"})


def new_id() -> str:
    return secrets.token_hex(32)


def labels_match(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())


class SandboxService:
    def __init__(
        self,
        config: RuntimeConfig,
        records: Records[Sandbox],
        network: PodNetwork,
        clock: Clock,
    ) -> None:
        self._config = config
        self._records = records
        self._network = network
        self._clock = clock

    def get(self, sandbox_id: str) -> Sandbox:
        sandbox = self._records.find(sandbox_id)
        if sandbox is None:
            raise NotFoundError("sandbox", sandbox_id)
        return sandbox

    def find(self, sandbox_id: str) -> Sandbox | None:
        return self._records.find(sandbox_id)

    async def run(self, request: Any) -> Any:
        config = request.config
        _check(config, request.runtime_handler)
        sandbox = Sandbox(
            id=new_id(),
            config_data=pack(config),
            created_at=int(self._clock.now() * 1e9),
            handler=request.runtime_handler,
            state=SandboxState.NOT_READY,
            # Chosen here and saved first: whoever cleans up after a crash knows what to look for.
            namespace_id=str(uuid.uuid4()).upper(),
        )
        user = config.windows.security_context.run_as_username
        if user and find_account(user) is None:
            raise SandboxStartError(sandbox.id, WRONG_NAME)
        self._records.save(sandbox)
        try:
            _ensure_folder(config.log_directory)
            await self._network.attach(sandbox)
        except BaseException:
            await self._undo(sandbox)
            raise
        sandbox.state = SandboxState.READY
        self._records.save(sandbox)
        log.info("sandbox ready", extra={"sandbox": sandbox.id, "ips": sandbox.ips})
        return cri.RunPodSandboxResponse(pod_sandbox_id=sandbox.id)

    async def _undo(self, sandbox: Sandbox) -> None:
        with contextlib.suppress(WinkubeError, OSError):
            await asyncio.shield(self._network.detach(sandbox))
        self._forget(sandbox)

    async def stop(self, sandbox: Sandbox) -> None:
        """Take the network away; the containers have been stopped before."""
        await self._network.detach(sandbox)
        sandbox.state = SandboxState.NOT_READY
        self._records.save(sandbox)

    async def remove(self, sandbox: Sandbox) -> None:
        await self._network.detach(sandbox)
        await asyncio.to_thread(end_group, f"{self._config.cgroup_parent}/{sandbox.id}")
        self._forget(sandbox)

    def _forget(self, sandbox: Sandbox) -> None:
        self._records.drop(sandbox.id)
        shutil.rmtree(self._records.folder(sandbox.id), ignore_errors=True)

    def matching(self, filter_: Any) -> list[Any]:
        found = (sandbox for sandbox in self._records if _wanted(sandbox, filter_))
        return [to_item(sandbox) for sandbox in sorted(found, key=lambda s: -s.created_at)]

    def adopt(self) -> None:
        """After a restart: a pod whose network is gone (a reboot) is not ready any more."""
        for sandbox in self._records:
            if sandbox.state is SandboxState.READY and not Path(sandbox.netns).exists():
                sandbox.state = SandboxState.NOT_READY
                self._records.save(sandbox)

    def all(self) -> list[Sandbox]:
        return list(self._records)


def _ensure_folder(path: str) -> None:
    if path:
        Path(path).mkdir(parents=True, exist_ok=True)


def _check(config: Any, handler: str) -> None:
    meta = config.metadata
    if not (meta.name and meta.namespace and meta.uid):
        raise InvalidArgumentError("sandbox config must include metadata with name, uid, namespace")
    if handler not in _HANDLERS:
        raise InvalidArgumentError(
            f'failed to get sandbox runtime: no runtime for "{handler}" is configured'
        )
    if config.windows.security_context.host_process:
        raise UnsupportedError("HostProcess containers are not supported by this runtime yet")


def _wanted(sandbox: Sandbox, filter_: Any) -> bool:
    if filter_.id and not sandbox.id.startswith(filter_.id):
        return False
    if filter_.HasField("state") and filter_.state.state != to_state(sandbox):
        return False
    return labels_match(sandbox.config.labels, filter_.label_selector)


def to_state(sandbox: Sandbox) -> int:
    ready = sandbox.state is SandboxState.READY
    return int(cri.SANDBOX_READY if ready else cri.SANDBOX_NOTREADY)


def to_item(sandbox: Sandbox) -> Any:
    config = sandbox.config
    return cri.PodSandbox(
        id=sandbox.id,
        metadata=config.metadata,
        state=to_state(sandbox),
        created_at=sandbox.created_at,
        labels=dict(config.labels),
        annotations=dict(config.annotations),
        runtime_handler=sandbox.handler,
    )


def to_status(sandbox: Sandbox) -> Any:
    config = sandbox.config
    first, *others = sandbox.ips or [""]
    return cri.PodSandboxStatus(
        id=sandbox.id,
        metadata=config.metadata,
        state=to_state(sandbox),
        created_at=sandbox.created_at,
        network=cri.PodSandboxNetworkStatus(
            ip=first, additional_ips=[cri.PodIP(ip=address) for address in others]
        ),
        labels=dict(config.labels),
        annotations=dict(config.annotations),
        runtime_handler=sandbox.handler,
    )
