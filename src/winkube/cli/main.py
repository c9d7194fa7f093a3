"""The ``winkube`` program: its commands, and the one place where an error becomes an exit code."""

import sys

import click
import typer

from winkube.base.errors import WinkubeError
from winkube.cli import down, export_logs, images, load, ls, status, up, version

app = typer.Typer(
    name="winkube",
    help="Windows Server nodes for Kubernetes, on any Linux machine, in seconds.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up")(up.up)
app.command("down")(down.down)
app.command("ls")(ls.ls)
app.command("status")(status.status)
app.command("load")(load.load)
app.command("images")(images.images)
app.command("export-logs")(export_logs.export_logs)
app.command("version")(version.version)


def main() -> None:
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except click.exceptions.Abort:
        sys.exit("winkube: stopped")
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit("winkube: stopped; 'winkube up' goes on from here, 'winkube down' cleans up")
    except (WinkubeError, PermissionError) as error:
        sys.exit(f"winkube: {error}")
    except BrokenPipeError:
        sys.exit(1)
