"""``winkube load``: put images from archives onto the nodes of a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from winkube.cli.options import Name, home


def load(
    archives: Annotated[
        list[Path],
        typer.Argument(help="docker save or OCI archives.", exists=True, dir_okay=False),
    ],
    name: Name = "winkube",
) -> None:
    """Load images from archives, each onto the nodes of its operating system."""
    import asyncio

    from winkube.cluster import loading
    from winkube.cluster.state import load_state

    state = load_state(home(), name)
    for archive in archives:
        for line in asyncio.run(loading.load_archive(state, archive.resolve())):
            print(line)
