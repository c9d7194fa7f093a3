"""``winkube status``: every process and node of a cluster."""

import typer

from winkube.cli.options import Name, home


def status(name: Name = "winkube") -> None:
    """Show the processes and nodes of a cluster; exit code 1 unless all are well."""
    import asyncio

    from winkube.cluster import report

    found = asyncio.run(report.inspect(home(), name))
    print(f"{'COMPONENT':<22} {'STATE':<9} {'PID':>7} {'MEMORY':>9}  LOG")
    for part in found.processes:
        pid, memory = (str(part.pid), f"{part.memory >> 20} MiB") if part.pid else ("-", "-")
        print(f"{part.component:<22} {part.state:<9} {pid:>7} {memory:>9}  {part.log}")
    print(f"\n{'NODE':<22} {'STATE':<9} {'ADDRESS':<15} VERSION")
    for node in found.nodes:
        print(f"{node.name:<22} {node.state:<9} {node.address:<15} {node.version}")
    if found.simulation.count:
        made = f"{found.simulation.linux} Linux, {found.simulation.windows} Windows"
        print(
            f"\nSimulated nodes: {found.simulated_ready} of {found.simulation.count} Ready ({made})"
        )
    if found.problem:
        print(f"\n{found.problem}")
    if not found.healthy:
        raise typer.Exit(1)
