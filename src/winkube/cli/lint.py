"""``winkube lint``: what of these manifests does not work on Windows nodes."""

from pathlib import Path
from typing import Annotated

import typer

Words = list[str] | None
Paths = Annotated[Words, typer.Argument(help="Files, folders, or - for the standard input.")]
Kubernetes = Annotated[Words, typer.Option(help="Version of the target, as 1.34; may repeat.")]
Windows = Annotated[Words, typer.Option(help="ws2019, ws2022, ws2025, 17763, ...; may repeat.")]
Network = Annotated[Words, typer.Option(help="l2bridge, overlay, transparent, l2tunnel, nat.")]
Runtime = Annotated[Words, typer.Option(help="containerd, docker or cri-dockerd.")]
Format = Annotated[str, typer.Option("--format", "-o", help="text, json, sarif, github, junit.")]
FailOn = Annotated[str, typer.Option(help="error, warning, info or never.")]
Level = Annotated[str, typer.Option(help="The least severity to show: error, warning, info.")]
Config = Annotated[Path | None, typer.Option(help="Default: .winkube-lint.yaml, if it is there.")]
Baseline = Annotated[Path | None, typer.Option(help="Hide the findings in this file.")]
Write = Annotated[Path | None, typer.Option(help="Write the findings to this file as known.")]
Fix = Annotated[bool, typer.Option(help="Rewrite what is safe to rewrite, and show the diff.")]
DryRun = Annotated[bool, typer.Option(help="With --fix: show the diff, change no file.")]
Cluster = Annotated[bool, typer.Option(help="Check the objects of a running cluster.")]
Kubeconfig = Annotated[Path | None, typer.Option(help="With --cluster: which kubeconfig.")]
Context = Annotated[str | None, typer.Option(help="With --cluster: which context.")]
Values = Annotated[Words, typer.Option("--values", "-f", help="Values for charts; may repeat.")]
Set = Annotated[Words, typer.Option("--set", help="A value for charts, as key=value; may repeat.")]
Language = Annotated[str, typer.Option("--language", help="en or zh (text format).")]


def lint(  # noqa: PLR0913, PLR0917 - the options of the command
    paths: Paths = None,
    kubernetes: Kubernetes = None,
    windows: Windows = None,
    network: Network = None,
    runtime: Runtime = None,
    output: Format = "text",
    fail_on: FailOn = "",
    level: Level = "warning",
    config: Config = None,
    baseline: Baseline = None,
    write_baseline: Write = None,
    fix: Fix = False,
    dry_run: DryRun = False,
    cluster: Cluster = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    values: Values = None,
    settings: Set = None,
    language: Language = "en",
) -> None:
    """Check manifests, or a cluster, against what Windows nodes can do.

    Exit code 0: no finding as bad as --fail-on. 1: there are some. 2: something could not be read.
    """
    from winkube.cli import lint_command as command

    sides = {"kubernetes": kubernetes, "windows": windows, "network": network, "runtime": runtime}
    asked = command.Asked(
        paths=tuple(paths or ()),
        target={side: tuple(words) for side, words in sides.items() if words},
        output=output,
        fail_on=fail_on,
        level=level,
        config=config,
        baseline=baseline,
        write_baseline=write_baseline,
        fix=fix,
        dry_run=dry_run,
        kubeconfig=command.kubeconfig(kubeconfig) if cluster or kubeconfig else None,
        context=context,
        values=tuple(values or ()),
        settings=tuple(settings or ()),
        chinese=language == "zh",
    )
    raise typer.Exit(command.run(asked))
