"""``winkube up``: start a cluster, or repair the one that is there."""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winkube.api.simulation import ROLE
from winkube.base.clock import SystemClock
from winkube.cli.options import home, kubeconfig_path
from winkube.cli.steps import TerminalSteps

if TYPE_CHECKING:
    from winkube.cluster.simulation import Simulation
    from winkube.cluster.spec import ClusterSpec
    from winkube.cluster.state import ClusterState


def up(  # noqa: PLR0913, PLR0917 - one per option
    context: typer.Context,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A cluster file.")] = None,
    name: Annotated[str, typer.Option("--name", "-n", help="The cluster's name.")] = "",
    linux: Annotated[int | None, typer.Option(help="Linux nodes (1 if not said).")] = None,
    windows: Annotated[int | None, typer.Option(help="Windows nodes (2 if not said).")] = None,
    windows_version: Annotated[str, typer.Option(help="Their Windows (ltsc2019).")] = "",
    ip_family: Annotated[
        str, typer.Option(help="Addresses of nodes, pods and Services: ipv4 or dual (ipv4).")
    ] = "",
    simulated: Annotated[
        int | None, typer.Option(help="Simulated nodes beside them; may be changed later.")
    ] = None,
    simulated_windows: Annotated[
        int | None, typer.Option(help="How many of the simulated nodes run Windows.")
    ] = None,
    kubeconfig: Annotated[bool, typer.Option(help="Merge a context into your kubeconfig.")] = True,
) -> None:
    """Start a cluster with Linux and Windows nodes."""
    from winkube.cluster import lifecycle
    from winkube.cluster.daemon import spawn_supervisor

    spec = _spec(file, name, linux, windows, windows_version)
    spec = _of_family(spec, file, ip_family)
    if file is not None or windows_version or ip_family or (linux, windows) != (None, None):
        lifecycle.check_unchanged(home(), spec)
    steps = TerminalSteps()
    start = context.obj or spawn_supervisor  # the program has prepared one beforehand
    simulation = _simulation(simulated, simulated_windows, windows_version)
    state = lifecycle.up(home(), spec, steps, SystemClock(), start, simulation)
    if kubeconfig:
        lifecycle.merge_kubeconfig(state, kubeconfig_path())
    _say_what_next(state, steps.elapsed, kubeconfig=kubeconfig)


def _spec(
    file: Path | None, name: str, linux: int | None, windows: int | None, version: str
) -> "ClusterSpec":
    from winkube.cluster.errors import SpecError
    from winkube.cluster.spec import ClusterSpec, load_spec, plan_nodes

    if file is None:
        counts = (1 if linux is None else linux, 2 if windows is None else windows)
        nodes = plan_nodes(*counts, version or "ltsc2019")
        return ClusterSpec(name=name or ClusterSpec().name, nodes=nodes)
    given = {"--linux": linux, "--windows": windows, "--windows-version": version or None}
    if flags := [flag for flag, value in given.items() if value is not None]:
        raise SpecError(", ".join(flags), "the nodes come from the cluster file; change it there")
    spec = load_spec(file)
    return replace(spec, name=name) if name else spec


def _of_family(spec: "ClusterSpec", file: Path | None, ip_family: str) -> "ClusterSpec":
    from winkube.cluster import subnet
    from winkube.cluster.errors import SpecError

    if not ip_family:
        return spec
    if file is not None:
        raise SpecError("--ip-family", "it comes from the cluster file; change it there")
    family = subnet.parse_ip_family("--ip-family", ip_family)
    return replace(spec, pod_subnet=subnet.PODS[family], service_subnet=subnet.SERVICES[family])


def _simulation(count: int | None, windows: int | None, version: str) -> "Simulation | None":
    from winkube.cluster.errors import SpecError
    from winkube.cluster.simulation import plan_simulation

    if count is None:
        if windows is not None:
            raise SpecError("--simulated-windows", "say with --simulated how many there are in all")
        return None
    return plan_simulation(count, windows or 0, version or "ltsc2019")


def _say_what_next(state: "ClusterState", seconds: float, *, kubeconfig: bool) -> None:
    print(f"\n{'NODE':<16} {'OS':<12} ADDRESS")
    for node in state.spec.nodes:
        addresses = ",".join(state.node_ips(node.name))
        print(f"{node.name:<16} {node.windows_version or node.os:<12} {addresses}")
    if state.simulation.count:
        print(f"and {state.simulation.count} simulated nodes (kubectl get nodes -l {ROLE})")
    print(f"\nCluster {state.spec.name} is ready after {seconds:.1f} s. Try:\n")
    if not kubeconfig:
        print(f"  {_program()} status --name {state.spec.name}")
        return
    for line in _next_commands(state):
        print(f"  {line}")
    print(f"\nStop it with: {_program()} down{_name_option(state)}")


def _next_commands(state: "ClusterState") -> list[str]:
    if not state.nodes("windows"):
        return ["kubectl get nodes -o wide"]
    return [
        "kubectl get nodes -o wide",
        "kubectl apply -f examples/iis/",
        "kubectl rollout status deploy/iis",
        "kubectl exec deploy/iis -- cmd /c ver",
    ]


def _program() -> str:
    on_path = shutil.which("winkube") is not None
    return to_command(sys.argv[0], sys.executable, on_path=on_path)


def to_command(program: str, python: str, *, on_path: bool) -> str:
    """What to type: our name where the shell finds it, else the way we were started."""
    if on_path:
        return "winkube"
    if Path(program).name == "__main__.py":
        return f"{_shorter(python)} -m winkube"
    return _shorter(program)


def _shorter(program: str) -> str:
    return min(os.path.relpath(program), str(Path(program).absolute()), key=len)


def _name_option(state: "ClusterState") -> str:
    from winkube.cluster.spec import ClusterSpec

    return "" if state.spec.name == ClusterSpec().name else f" --name {state.spec.name}"
