"""Bringing a cluster up.

``up`` is a list of idempotent steps; running it again on a live cluster repairs and reports, and a
crash between two steps is met by the next ``up`` or ``down`` (``teardown``).
"""

import contextlib
import ipaddress
import os
import shutil
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from winkube.base.clock import Clock
from winkube.base.errors import WinkubeError
from winkube.base.paths import Home
from winkube.cluster import kubeconfig, pki, preflight
from winkube.cluster.daemon import restart
from winkube.cluster.errors import ChangedError, NoSuchClusterError
from winkube.cluster.linux_root import ensure_template
from winkube.cluster.simulation import NO_SIMULATION, SIMULATED, Simulation
from winkube.cluster.spec import ClusterSpec
from winkube.cluster.state import CONTROL_PLANE, ClusterState, exclusive, list_clusters, load_state
from winkube.linux import cgroup
from winkube.machines import underlay
from winkube.machines.personality import find_personality
from winkube.machines.windows_host import ensure_windows_host
from winkube.machines.wine.base import ensure_base
from winkube.machines.wine.layer import ensure_layer
from winkube.runtime.toolchain import ensure_iis, ensure_tools


class Steps(Protocol):
    """How ``up`` tells what it does; the CLI draws it."""

    def step(self, title: str) -> AbstractContextManager[Callable[[str, float], None]]: ...


def up(
    home: Home,
    spec: ClusterSpec,
    steps: Steps,
    clock: Clock,
    start: Callable[[ClusterState], None],
    simulation: Simulation | None = None,
) -> ClusterState:
    """Everything in order; ``start`` lets the supervisor begin. Simulated nodes may change."""
    preflight.check(spec)
    # In a group of the cluster: ``down`` ends the programs we call even when we are killed.
    with exclusive(home, spec.name, "up"), cgroup.inside(f"/winkube/{spec.name}/up"):
        _clear_after_reboot(home, spec.name)
        state = _ensure_state(home, spec, simulation)
        if state.nodes("windows"):
            with steps.step("Windows base") as progress:
                _ensure_windows(state, progress)
        if state.nodes("linux"):
            with steps.step("Linux images"):
                ensure_template(home.cache)
        # One waits for the disk, the other for the kernel.
        with ThreadPoolExecutor(1) as beside:
            network = beside.submit(_ensure_network, state)
            with steps.step("Certificates"):
                pki.ensure_pki(state, clock, os.urandom(32))
            with steps.step("Network namespaces"):
                network.result()
        with steps.step("Processes"):
            if simulation is not None:
                restart(state, SIMULATED)
            start(state)
        # Loaded here: the API server needs as long for its own start.
        from winkube.cluster.readiness import await_cluster

        await_cluster(state, steps.step)
        return state


def check_unchanged(home: Home, spec: ClusterSpec) -> None:
    """A cluster is made once: what is asked of it later has to be what it is."""
    with contextlib.suppress(NoSuchClusterError):
        made = load_state(home, spec.name).spec
        if made != spec:
            linux = sum(node.os == "linux" for node in made.nodes)
            nodes = f"{linux} Linux and {len(made.nodes) - linux} Windows nodes"
            families = " of two address families" if made.is_dual else ""
            raise ChangedError(spec.name, nodes + families)


def _clear_after_reboot(home: Home, name: str) -> None:
    """Folders of a boot that is over: the state says there is a cluster, the kernel does not."""
    paths = home.cluster(name)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    marker = paths.run / "boot"
    if marker.exists() and marker.read_text() != boot:
        shutil.rmtree(paths.run)
    paths.run.mkdir(parents=True, exist_ok=True, mode=0o700)
    marker.write_text(boot)


def _ensure_state(home: Home, spec: ClusterSpec, simulation: Simulation | None) -> ClusterState:
    """The cluster as it was made; a second ``up`` keeps its nodes, addresses and port."""
    with contextlib.suppress(NoSuchClusterError):
        made = load_state(home, spec.name)
        if simulation in (None, made.simulation):
            return made
        changed = replace(made, simulation=simulation)
        changed.save()
        return changed
    others = [load_state(home, name) for name in list_clusters(home)]
    taken = [ipaddress.IPv4Network(other.underlay) for other in others]
    state = ClusterState(
        spec=spec,
        underlay=str(underlay.pick_subnet(taken)),
        api_port=spec.api_port or _free_port({other.api_port for other in others}),
        home=home,
        simulation=simulation or NO_SIMULATION,
    )
    state.save()
    return state


def _ensure_windows(state: ClusterState, progress: Callable[[str, float], None]) -> None:
    """Everything that Windows containers share: the base, our programs, each node's personality."""
    cache = state.home.cache
    base = ensure_base(cache, progress)
    ensure_tools(cache)
    ensure_iis(cache)
    for version in {node.windows_version for node in state.nodes("windows")}:
        ensure_layer(base, find_personality(version), cache)


def _free_port(taken: set[int]) -> int:
    """6443 if we can have it, else any."""
    for wanted in (6443, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", wanted))
            port = int(probe.getsockname()[1])
            if port not in taken:
                return port
    raise WinkubeError("no free TCP port on 127.0.0.1")


def _ensure_network(state: ClusterState) -> None:
    nodes = [underlay.NodeSpec(CONTROL_PLANE, state.control_plane_ip)]
    nodes += [underlay.NodeSpec(n.name, state.node_ip(n.name)) for n in state.spec.nodes]
    spec = underlay.UnderlaySpec(
        cluster=state.spec.name,
        subnet=ipaddress.IPv4Network(state.underlay),
        nodes=tuple(nodes),
        outbound=state.spec.outbound,
        dual=state.spec.is_dual,
    )
    underlay.ensure_underlay(spec)
    for node in state.nodes("windows"):
        ensure_windows_host(underlay.netns_name(state.spec.name, node.name))


def merge_kubeconfig(state: ClusterState, path: Path) -> None:
    kubeconfig.merge_into(path, kubeconfig.admin_kubeconfig(state))
