"""``winkube export-logs``: everything a bug report needs, as one folder."""

from pathlib import Path
from typing import Annotated

import typer

from winkube.cli.options import Name, home


def export_logs(
    folder: Annotated[
        Path, typer.Argument(help="Where to; made if it is not there.", file_okay=False)
    ] = Path("winkube-logs"),
    name: Name = "winkube",
) -> None:
    """Copy component and pod logs of a cluster into a folder; secrets are never copied."""
    from winkube.cluster import report
    from winkube.cluster.state import load_state

    count = report.export_logs(load_state(home(), name), folder)
    print(f"{count} files in {folder}")
