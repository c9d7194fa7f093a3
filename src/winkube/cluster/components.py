"""The components of a cluster: for each, the configuration it gets and the process it becomes.

This is the only place that knows every component. Each function is a list of constructor calls;
imports stand inside them so that a process loads no more than it runs.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Collection, Coroutine, Iterable
from pathlib import Path
from typing import Any, Final, NoReturn

import uvloop

from winkube.base.collector import tune_collector
from winkube.base.limits import allow_open_files
from winkube.client.config import ClientConfig
from winkube.client.rest import ApiClient
from winkube.cluster import containerd, pki
from winkube.cluster.access import API_PORT, client_config
from winkube.cluster.addons import METRICS_PORT
from winkube.cluster.errors import StartError
from winkube.cluster.linux_root import ensure_template, fill_root
from winkube.cluster.preload import API, CONTROL, MODULES
from winkube.cluster.process import load_record
from winkube.cluster.simulation import SIMULATED, node_specs
from winkube.cluster.spec import NodeSpec
from winkube.cluster.state import CONTROL_PLANE, ClusterState
from winkube.cluster.supervisor import GUARD, SUPERVISOR, Component, record_path, wait_for_end
from winkube.linux import cgroup, netns
from winkube.machines.personality import Personality, find_personality
from winkube.machines.underlay import netns_name

CLUSTER_DOMAIN: Final = "cluster.local"
UPLINK: Final = "eth0"

Part = Callable[[], Coroutine[Any, Any, None]]

log = logging.getLogger(__name__)


def plan_components(state: ClusterState) -> list[Component]:
    """Every process of the cluster, in the order of start."""
    cluster = state.spec.name
    control = netns_name(cluster, CONTROL_PLANE)
    components = [
        # It opens a socket of the host first and enters the namespace itself.
        Component("apiserver", lambda: _apiserver(state), urgent=True, needs=API),
        Component("controllers", lambda: _controllers(state), control, needs=CONTROL),
    ]
    for node in state.spec.nodes:
        components += _node_components(state, node, netns_name(cluster, node.name))
    components.append(Component("dns", lambda: _dns(state), control, needs=MODULES))
    if state.simulation.count:
        components.append(Component(SIMULATED, lambda: _simulated(state), control, needs=MODULES))
    components.append(Component(GUARD, lambda: _guard(state), needs=MODULES))
    # What needs least starts first, while the rest is being loaded.
    return sorted(components, key=lambda component: len(component.needs))


def _node_components(state: ClusterState, node: NodeSpec, network: str) -> list[Component]:
    def component(
        name: str,
        main: Callable[[ClusterState, NodeSpec], NoReturn],
        needs: Collection[str] = MODULES,
    ) -> Component:
        def begin() -> NoReturn:
            # What a node's own processes use counts as the node's, like what its pods use.
            group = cgroup_of(state, node.name, "system")
            cgroup.ensure(group)
            cgroup.add(group, os.getpid())
            main(state, node)

        return Component(f"{name}-{node.name}", begin, network, needs=needs)

    if node.os == "linux":
        runtime = [component("containerd", _containerd, API)]
    else:
        runtime = [component("hns", _hns), component("cri", _cri)]
    return [*runtime, component("kubelet", _kubelet), component("proxy", _proxy)]


def cgroup_of(state: ClusterState, *parts: str) -> str:
    return "/".join(("/winkube", state.spec.name, *parts))


def _serve(*parts: Part) -> NoReturn:
    """Run these until one fails; SIGTERM ends the process, and a restart adopts what is there."""
    tune_collector()
    uvloop.run(_run_all(parts))
    os._exit(0)


def _serve_with_client(config: ClientConfig, build: Callable[[ApiClient], list[Part]]) -> NoReturn:
    async def main() -> None:
        async with ApiClient(config) as client:
            await _run_all(build(client))

    tune_collector()
    uvloop.run(main())
    os._exit(0)


async def _run_all(parts: Iterable[Part]) -> None:
    allow_open_files()
    async with asyncio.TaskGroup() as group:
        for part in parts:
            group.create_task(part(), name=getattr(part, "__qualname__", "part"))


def _listener(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(1024)
    listener.setblocking(False)
    return listener


def _apiserver(state: ClusterState) -> NoReturn:
    # A socket belongs to the namespace it was opened in: this one answers on the host's loopback.
    on_host = _listener("127.0.0.1", state.api_port)
    netns.enter_netns(netns.netns_path(netns_name(state.spec.name, CONTROL_PLANE)))
    inside = _listener(state.control_plane_ip, API_PORT)
    from winkube.apiserver.config import ApiServerConfig
    from winkube.apiserver.server import ApiServer

    server, kubelet = pki.pair(state, "apiserver"), pki.pair(state, "apiserver-kubelet-client")
    proxy = pki.pair(state, "front-proxy-client")
    state.paths.store.mkdir(parents=True, exist_ok=True, mode=0o700)
    config = ApiServerConfig(
        sockets=(on_host, inside),
        cert_file=server.cert,
        key_file=server.key,
        client_ca_file=pki.ca_file(state),
        kubelet_client_cert=kubelet.cert,
        kubelet_client_key=kubelet.key,
        kubelet_ca=pki.ca_file(state),
        store_path=state.paths.store / "store.db",
        service_account_key=pki.service_account_key(state),
        advertise_address=state.control_plane_ip,
        advertise_port=API_PORT,
        service_cidr=state.spec.service_subnet,
        cluster_domain=CLUSTER_DOMAIN,
        kubernetes_version=state.spec.kubernetes_version,
        encryption_key=pki.encryption_key(state),
        proxy_client_cert=proxy.cert,
        proxy_client_key=proxy.key,
        requestheader_ca=pki.front_proxy_ca_file(state),
    )
    _serve(ApiServer(config).run)


def _controllers(state: ClusterState) -> NoReturn:
    from winkube.cluster.health import CONTROLLERS_PORT, SCHEDULER_PORT, Health
    from winkube.controllers.config import ControllerConfig
    from winkube.controllers.manager import ControllerManager
    from winkube.metrics.config import MetricsConfig
    from winkube.metrics.server import MetricsServer
    from winkube.scheduler.config import SchedulerConfig
    from winkube.scheduler.scheduler import Scheduler

    config = ControllerConfig(
        cluster_cidr=state.spec.pod_subnet,
        service_cidr=state.spec.service_subnet,
        root_ca=pki.ca_file(state).read_bytes(),
        # Nobody else gets the CA's key: it makes identities.
        signing_cert=pki.ca_file(state),
        signing_key=pki.pair(state, "ca").key,
        service_account_key=pki.service_account_key(state),
        # Whoever runs upstream's beside ours finds the lease taken, and waits.
        leader_elect=True,
        garbage_delay=2.0,
        local_path_linux=str(state.paths.volumes),
    )

    pair = pki.pair(state, "metrics-server")
    metrics_config = MetricsConfig(
        listen=(state.control_plane_ip, METRICS_PORT),
        cert_file=pair.cert,
        key_file=pair.key,
        requestheader_ca=pki.front_proxy_ca_file(state),
        kubelet_ca=pki.ca_file(state),
        client_cert=pair.cert,
        client_key=pair.key,
    )

    async def main() -> None:
        # One process, three identities: each has only the rights of its own work.
        async with (
            ApiClient(client_config(state, "controller-manager")) as controllers,
            ApiClient(client_config(state, "scheduler")) as scheduler,
            ApiClient(client_config(state, "metrics-server")) as metrics,
        ):
            manager = ControllerManager(controllers, config)
            placing = Scheduler(scheduler, SchedulerConfig(leader_elect=True))
            well = {CONTROLLERS_PORT: manager.ready, SCHEDULER_PORT: placing.ready}
            measuring = MetricsServer(metrics, metrics_config)
            await _run_all([manager.run, placing.run, measuring.run, Health(well, pair).run])

    tune_collector()
    uvloop.run(main())
    os._exit(0)


def _dns(state: ClusterState) -> NoReturn:
    from winkube.dns.config import DnsConfig
    from winkube.dns.server import DnsServer
    from winkube.proxy.family import by_family
    from winkube.proxy.route import PodRoutes

    families = by_family(state.spec.pod_subnet)
    config = DnsConfig(
        listen=((state.control_plane_ip, 53),),
        domain=CLUSTER_DOMAIN,
        service_ip=state.spec.dns_ip,
    )
    # Windows pods keep their address towards the underlay: the way back leads over their node.
    _serve_with_client(
        client_config(state, "dns"),
        lambda client: [DnsServer(client, config).run, PodRoutes(client, families).run],
    )


def _simulated(state: ClusterState) -> NoReturn:
    from winkube.kubelet.simulated.fleet import SimulatedNodes

    specs = node_specs(state.simulation, f"v{state.spec.kubernetes_version}.0")
    _serve_with_client(
        client_config(state, SIMULATED), lambda client: [SimulatedNodes(client, specs).run]
    )


def _guard(state: ClusterState) -> NoReturn:
    """Wait for the supervisor's end, then put a new one in its place, and go on with that one.

    A new one that is killed before it has a guard of its own would else be the last.
    """
    from winkube.cluster.daemon import spawn_supervisor

    record = record_path(state.paths.run / "pids", SUPERVISOR)
    while record.parent.is_dir():
        # A supervisor that was told to stop takes its record with it, and the guard before that.
        supervisor = load_record(record)
        if supervisor is not None:
            wait_for_end(supervisor)
        try:
            spawn_supervisor(state)
        except StartError as error:
            # Once more: nobody else would.
            log.warning("no new supervisor", extra={"cause": str(error)})
    os._exit(0)


def _containerd(state: ClusterState, node: NodeSpec) -> NoReturn:
    paths = state.paths.node(node.name)
    fill_root(ensure_template(state.home.cache), paths.runtime)
    config = containerd.write_config(paths, mirrors=state.spec.mirrors)
    # Ours is strict; containerd makes the root folder of every container with it, for any user.
    os.umask(0o022)
    os.execvp("containerd", ["containerd", "--config", str(config)])


def _personality(node: NodeSpec) -> Personality | None:
    return find_personality(node.windows_version) if node.os == "windows" else None


def _hns(state: ClusterState, node: NodeSpec) -> NoReturn:
    from winkube.hns.service import HnsConfig, HnsService

    paths = state.paths.node(node.name)
    config = HnsConfig(
        socket=paths.hns_socket,
        state_dir=paths.state / "hns",
        version=find_personality(node.windows_version).hns_version,
        management_ip=state.node_ip(node.name),
        second_ip=state.second_ip(node.name),
        uplink=UPLINK,
        netns_prefix=f"{netns_name(state.spec.name, node.name)}-",
    )
    _serve(HnsService(config).run)


def _cri(state: ClusterState, node: NodeSpec) -> NoReturn:
    from winkube.cni.install import install_plugins
    from winkube.runtime.config import RegistryConfig, RuntimeConfig
    from winkube.runtime.server import CriServer

    paths = state.paths.node(node.name)
    install_plugins(paths.cni_bin, hns_socket=paths.hns_socket)
    config = RuntimeConfig(
        socket=paths.cri_socket,
        root=paths.runtime,
        run=paths.runtime_run,
        cache=state.home.cache,
        cni_conf_dir=paths.cni_conf,
        cni_bin_dir=paths.cni_bin,
        hns_socket=paths.hns_socket,
        personality=find_personality(node.windows_version),
        cgroup_parent=cgroup_of(state, node.name, "pods"),
        node_name=node.name,
        c_drive=paths.c_drive,
        registries=RegistryConfig({host: (url,) for host, url in state.spec.mirrors.items()}),
    )
    _serve(CriServer(config).run)


def _kubelet(state: ClusterState, node: NodeSpec) -> NoReturn:
    from winkube.kubelet.config import KubeletConfig
    from winkube.kubelet.kubelet import Kubelet

    paths, pair = state.paths.node(node.name), pki.pair(state, f"kubelet-{node.name}")
    windows = node.os == "windows"
    config = KubeletConfig(
        node_name=node.name,
        os=node.os,
        personality=_personality(node),
        node_ip=state.node_ip(node.name),
        second_ip=state.second_ip(node.name),
        cri_socket=paths.cri_socket,
        root_dir=paths.kubelet,
        pod_logs_dir=paths.pod_logs,
        cluster_dns=(state.spec.dns_ip,),
        cluster_domain=CLUSTER_DOMAIN,
        cert_file=pair.cert,
        key_file=pair.key,
        client_ca_file=pki.ca_file(state),
        c_drive=paths.c_drive if windows else None,
        labels=node.labels,
        kube_version=f"v{state.spec.kubernetes_version}.0",
        cgroup_parent=cgroup_of(state, node.name, "pods"),
    )
    _serve_with_client(
        client_config(state, f"kubelet-{node.name}"), lambda client: [Kubelet(config, client).run]
    )


def _proxy(state: ClusterState, node: NodeSpec) -> NoReturn:
    from winkube.proxy.config import ProxyConfig
    from winkube.proxy.hostgw import HostGateway, HostGatewayConfig

    paths, address = state.paths.node(node.name), state.node_ip(node.name)
    gateway = HostGatewayConfig(
        node_name=node.name,
        node_ip=address,
        os=node.os,
        cluster_cidr=state.spec.pod_subnet,
        service_cidr=state.spec.service_subnet,
        cluster_dns=state.spec.dns_ip,
        cluster_domain=CLUSTER_DOMAIN,
        cni_conf_dir=paths.cni_conf,
        cni_data_dir=paths.cni_data,
        hns_socket=paths.hns_socket if node.os == "windows" else None,
    )
    config = ProxyConfig(
        node.name,
        address,
        state.spec.pod_subnet,
        kube_version=f"{state.spec.kubernetes_version}.0",
    )

    def build(client: ApiClient) -> list[Part]:
        if node.os == "windows":
            from winkube.proxy.windows import WindowsProxy

            made = HostGateway(client, gateway)
            proxy = WindowsProxy(client, paths.hns_socket, config, made.ready)
            return [made.run, proxy.run]
        from winkube.proxy.linux import LinuxProxy

        return [HostGateway(client, gateway).run, LinuxProxy(client, config).run]

    _serve_with_client(client_config(state, "proxy"), build)


def log_file(state: ClusterState, component: str) -> Path:
    return state.paths.logs / f"{component}.log"
