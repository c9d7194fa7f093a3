"""``winkube up``: start a cluster, or repair the one that is there."""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from winkube.base.clock import SystemClock
from winkube.cli.options import home, kubeconfig_path
from winkube.cli.steps import TerminalSteps
from winkube.cluster.errors import SpecError
from winkube.cluster.spec import ClusterSpec, load_spec, plan_nodes
from winkube.cluster.state import ClusterState


def up(
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A cluster file.")] = None,
    name: Annotated[str, typer.Option("--name", "-n", help="The cluster's name.")] = "",
    linux: Annotated[int | None, typer.Option(help="Linux nodes (1 if not said).")] = None,
    windows: Annotated[int | None, typer.Option(help="Windows nodes (2 if not said).")] = None,
    windows_version: Annotated[str, typer.Option(help="Their Windows (ltsc2019).")] = "",
    kubeconfig: Annotated[bool, typer.Option(help="Merge a context into your kubeconfig.")] = True,
) -> None:
    """Start a cluster with Linux and Windows nodes."""
    from winkube.cluster import lifecycle

    spec = _spec(file, name, linux, windows, windows_version)
    if file is not None or windows_version or (linux, windows) != (None, None):
        lifecycle.check_unchanged(home(), spec)
    steps = TerminalSteps()
    state = lifecycle.up(home(), spec, steps, SystemClock())
    if kubeconfig:
        lifecycle.merge_kubeconfig(state, kubeconfig_path())
    _say_what_next(state, steps.elapsed, kubeconfig=kubeconfig)


def _spec(
    file: Path | None, name: str, linux: int | None, windows: int | None, version: str
) -> ClusterSpec:
    if file is None:
        counts = (1 if linux is None else linux, 2 if windows is None else windows)
        nodes = plan_nodes(*counts, version or "ltsc2019")
        return ClusterSpec(name=name or ClusterSpec().name, nodes=nodes)
    given = {"--linux": linux, "--windows": windows, "--windows-version": version or None}
    if flags := [flag for flag, value in given.items() if value is not None]:
        raise SpecError(", ".join(flags), "the nodes come from the cluster file; change it there")
    spec = load_spec(file)
    return replace(spec, name=name) if name else spec


def _say_what_next(state: ClusterState, seconds: float, *, kubeconfig: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("NODE", "OS", "ADDRESS"):
        table.add_column(title)
    for node in state.spec.nodes:
        table.add_row(node.name, node.windows_version or node.os, state.node_ip(node.name))
    console.print()
    console.print(table)
    console.print(f"\nCluster [bold]{state.spec.name}[/] is ready after {seconds:.1f} s. Try:\n")
    if not kubeconfig:
        console.print(f"  {_program()} status --name {state.spec.name}")
        return
    for line in _next_commands(state):
        console.print(f"  {line}", highlight=False)
    console.print(f"\nStop it with: {_program()} down{_name_option(state)}", highlight=False)


def _next_commands(state: ClusterState) -> list[str]:
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
        return f"{os.path.relpath(python)} -m winkube"
    return os.path.relpath(program)


def _name_option(state: ClusterState) -> str:
    return "" if state.spec.name == ClusterSpec().name else f" --name {state.spec.name}"
