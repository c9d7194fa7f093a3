"""What is running: clusters, processes, nodes, logs."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from winkube.api.errors import ApiError
from winkube.base.errors import WinkubeError
from winkube.base.paths import Home
from winkube.base.types import JsonObject
from winkube.client.errors import ClientError
from winkube.client.resource import NODES
from winkube.client.rest import ApiClient
from winkube.cluster.access import admin_client_config
from winkube.cluster.components import log_file, plan_components
from winkube.cluster.daemon import running_supervisor
from winkube.cluster.process import load_record
from winkube.cluster.readiness import is_ready
from winkube.cluster.simulation import NO_SIMULATION, Simulation
from winkube.cluster.state import ClusterState, list_clusters, load_state
from winkube.cluster.supervisor import GUARD, SUPERVISOR, record_path


@dataclass(frozen=True, slots=True)
class ClusterRow:
    name: str
    state: str
    linux: int
    windows: int
    api_port: int


@dataclass(frozen=True, slots=True)
class ProcessRow:
    component: str
    state: str
    pid: int
    memory: int
    log: Path


@dataclass(frozen=True, slots=True)
class NodeRow:
    name: str
    state: str
    address: str
    version: str


@dataclass(frozen=True, slots=True)
class Report:
    processes: list[ProcessRow]
    nodes: list[NodeRow]
    problem: str
    simulation: Simulation = NO_SIMULATION
    simulated_ready: int = 0

    @property
    def healthy(self) -> bool:
        processes = all(row.state == "running" for row in self.processes)
        nodes = all(row.state == "Ready" for row in self.nodes)
        simulated = self.simulated_ready == self.simulation.count
        return not self.problem and processes and nodes and simulated


def list_rows(home: Home) -> list[ClusterRow]:
    rows = []
    for name in list_clusters(home):
        state = load_state(home, name)
        running = running_supervisor(state) is not None
        rows.append(
            ClusterRow(
                name=name,
                state="running" if running else "stopped",
                linux=len(state.nodes("linux")),
                windows=len(state.nodes("windows")),
                api_port=state.api_port,
            )
        )
    return rows


async def inspect(home: Home, name: str) -> Report:
    state = load_state(home, name)
    names = [SUPERVISOR, *(part.name for part in plan_components(state))]
    processes = [_process_row(state, component) for component in names]
    try:
        async with ApiClient(admin_client_config(state)) as client:
            nodes = {n["metadata"]["name"]: n for n in (await client.list(NODES))["items"]}
    except (ApiError, ClientError) as error:
        said = f"the API server does not answer: {error}"
        return Report(processes, [], "\n".join(filter(None, (said, way_out(name, processes)))))
    rows = [_node_row(state, node.name, nodes.get(node.name)) for node in state.spec.nodes]
    ready = sum(name in nodes and is_ready(nodes[name]) for name in state.simulation.names)
    return Report(processes, rows, way_out(name, processes), state.simulation, ready)


def way_out(name: str, processes: Iterable[ProcessRow]) -> str:
    """What to do when nobody is left who would begin processes again; empty while somebody is."""
    running = {row.component for row in processes if row.state == "running"}
    if running & {SUPERVISOR, GUARD}:
        return ""
    return (
        "neither the supervisor nor its guard runs, so nothing that ends is begun again: "
        f"`winkube up --name {name}` starts them, and what runs goes on"
    )


def _process_row(state: ClusterState, component: str) -> ProcessRow:
    process = load_record(record_path(state.paths.run / "pids", component))
    log = log_file(state, component)
    if process is None:
        return ProcessRow(component, "stopped", 0, 0, log)
    return ProcessRow(component, "running", process.pid, proportional_memory(process.pid), log)


def proportional_memory(pid: int) -> int:
    """PSS: memory shared with other processes counts by its share, so that sums mean something."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0


def _node_row(state: ClusterState, name: str, node: JsonObject | None) -> NodeRow:
    if node is None:
        return NodeRow(name, "absent", state.node_ip(name), "")
    info = node["status"].get("nodeInfo", {})
    ready = "Ready" if is_ready(node) else "NotReady"
    return NodeRow(name, ready, state.node_ip(name), info.get("osImage", ""))


def export_logs(state: ClusterState, folder: Path) -> int:
    """Copy every log file and nothing else: no keys, no volumes, no store."""
    sources = [(state.paths.logs, folder / "components")]
    sources += [
        (state.paths.node(node.name).pod_logs, folder / "pods" / node.name)
        for node in state.spec.nodes
    ]
    count = 0
    for source, target in sources:
        for path in source.rglob("*.log") if source.is_dir() else ():
            # A pod may have put a link in place of its log: only plain files are ours to copy.
            if path.is_symlink() or not path.is_file():
                continue
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            count += 1
    if not count:
        raise WinkubeError(f"cluster {state.spec.name!r} has no logs")
    return count
