"""One part of winkube's control plane as a process: ``python -m winkube.testing.part``."""

import asyncio
import contextlib
import dataclasses
import json
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import uvloop

from winkube.base.collector import tune_collector
from winkube.base.limits import allow_open_files
from winkube.base.log import configure
from winkube.client.config import ClientConfig
from winkube.client.rest import ApiClient
from winkube.testing.keys import Keys

if TYPE_CHECKING:
    from winkube.kubelet.simulated.node import NodeSpec


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(512)
    listener.setblocking(False)
    return listener


async def serve_api(keys: Keys, port: int, *flags: str) -> None:
    from winkube.apiserver.config import ApiServerConfig
    from winkube.apiserver.server import ApiServer

    config = ApiServerConfig(
        sockets=(_listen(port),),
        cert_file=keys.server.cert,
        key_file=keys.server.key,
        client_ca_file=keys.ca,
        kubelet_client_cert=keys.admin.cert,
        kubelet_client_key=keys.admin.key,
        kubelet_ca=keys.ca,
        store_path=keys.folder / "store.db",
        service_account_key=keys.service_account,
        service_account_issuer="https://kubernetes.default.svc",
        advertise_address="127.0.0.1",
        advertise_port=port,
        **_said(flags),
    )
    await ApiServer(config).run()


async def control(keys: Keys, port: int, *flags: str) -> None:
    from winkube.controllers.config import ControllerConfig
    from winkube.controllers.manager import ControllerManager

    known = ControllerConfig(root_ca=keys.ca.read_bytes(), service_account_key=keys.service_account)
    config = dataclasses.replace(known, **_said(flags))
    async with ApiClient(_client(keys, port, "system:kube-controller-manager")) as client:
        await ControllerManager(client, config).run()


async def schedule(keys: Keys, port: int, *flags: str) -> None:
    from winkube.scheduler.config import SchedulerConfig
    from winkube.scheduler.scheduler import Scheduler

    async with ApiClient(_client(keys, port, "system:kube-scheduler")) as client:
        await Scheduler(client, SchedulerConfig(**_said(flags))).run()


def _said(flags: Iterable[str]) -> dict[str, Any]:
    """The settings that flags of upstream's programs stand for."""
    pairs = [flag.partition("=")[::2] for flag in flags]
    return {_FLAGS[name][0]: _FLAGS[name][1](text) for name, text in pairs}


async def simulate(keys: Keys, port: int, renew_seconds: str, *specs: str) -> None:
    """Each spec is a NodeSpec's fields as JSON; ``count`` more like it are numbered."""
    from winkube.kubelet.simulated.fleet import SimulatedNodes

    nodes = [node for text in specs for node in _node_specs(json.loads(text))]
    async with ApiClient(_client(keys, port, "simulated-nodes")) as client:
        await SimulatedNodes(client, nodes, renew_seconds=float(renew_seconds)).run()


def _node_specs(fields: dict[str, Any]) -> "list[NodeSpec]":
    from winkube.kubelet.simulated.node import NodeSpec

    fields["taints"] = tuple(fields.get("taints") or ())
    count = fields.pop("count", None)
    if count is None:
        return [NodeSpec(**fields)]
    name = fields.pop("name")
    return [NodeSpec(name=f"{name}-{number}", **fields) for number in range(count)]


def _client(keys: Keys, port: int, user: str) -> ClientConfig:
    # On an upstream API server the component's own RBAC names other service accounts than ours:
    # the privileges of one who runs all controllers are an administrator's there.
    return keys.client(port, keys.issue(user, ("system:masters",)))


def _seconds(text: str) -> float:
    return float(text.removesuffix("s"))


_PARTS: Final[dict[str, Callable[..., Coroutine[Any, Any, None]]]] = {
    "apiserver": serve_api,
    "controllers": control,
    "scheduler": schedule,
    "nodes": simulate,
}
# Upstream's flags that ours are told too.
_FLAGS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "--cluster-cidr": ("cluster_cidr", str),
    "--horizontal-pod-autoscaler-sync-period": ("autoscaler_period", _seconds),
    "--leader-elect": ("leader_elect", lambda text: text == "true"),
    "--node-monitor-grace-period": ("node_grace_period", _seconds),
    "--node-startup-grace-period": ("node_startup_grace_period", _seconds),
    "--service-cluster-ip-range": ("service_cidr", str),
    "--node-monitor-period": ("node_monitor_period", _seconds),
}


async def _until_told(work: Coroutine[Any, Any, None]) -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await work


def main() -> None:
    part, folder, port, *more = sys.argv[1:]
    configure()
    tune_collector()
    allow_open_files()
    uvloop.run(_until_told(_PARTS[part](Keys(Path(folder)), int(port), *more)))


if __name__ == "__main__":
    main()
