"""``winkube lint``: what of these manifests does not work on Windows nodes."""

import sys
from typing import Annotated

import typer


def lint(
    paths: Annotated[list[str] | None, typer.Argument(help="Files, folders, or - (stdin).")] = None,
    kubernetes: Annotated[list[str] | None, typer.Option(help="Version, as 1.34.")] = None,
    windows: Annotated[list[str] | None, typer.Option(help="ws2019, ws2022, 20348, ...")] = None,
    network: Annotated[list[str] | None, typer.Option(help="l2bridge, overlay, ...")] = None,
    runtime: Annotated[list[str] | None, typer.Option(help="containerd or docker.")] = None,
) -> None:
    """Check manifests against what Windows nodes can do."""
    from winkube.lint.formats import text
    from winkube.lint.run import LintConfig, lint as run
    from winkube.lint.sources import read_sources
    from winkube.rules.model import Severity
    from winkube.rules.target import parse_targets

    targets = parse_targets(kubernetes or (), windows or (), network or (), runtime or ())
    report = run(LintConfig(targets), read_sources(paths or ["-"]))
    for line in text.to_lines(report, color=sys.stdout.isatty()):
        print(line)
    raise typer.Exit(report.exit_code(Severity.ERROR))
