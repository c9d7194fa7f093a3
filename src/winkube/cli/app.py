"""The commands of the ``winkube`` program."""

from typing import Annotated

import typer

from winkube.cli import (
    down,
    explain,
    export_logs,
    images,
    lint,
    load,
    ls,
    status,
    up,
    version,
    webhook,
)
from winkube.cli.outcome import tell_errors

app = typer.Typer(
    name="winkube",
    help="Windows Server nodes for Kubernetes, on any Linux machine, in seconds.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        version.version()
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Same as 'version'."),
    ] = False,
) -> None:
    """Windows Server nodes for Kubernetes, on any Linux machine, in seconds."""


for _name, _command in (
    ("up", up.up),
    ("down", down.down),
    ("ls", ls.ls),
    ("status", status.status),
    ("load", load.load),
    ("images", images.images),
    ("export-logs", export_logs.export_logs),
    ("lint", lint.lint),
    ("explain", explain.explain),
    ("version", version.version),
):
    app.command(_name)(tell_errors(_command))
app.add_typer(webhook.app, name="webhook")
