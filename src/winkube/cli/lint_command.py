"""What ``winkube lint`` does with its options: files in, a report and an exit code out."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from winkube.base.errors import WinkubeError
from winkube.cli.options import kubeconfig_path
from winkube.lint import repair
from winkube.lint.baseline import hide_known, load_baseline, write_baseline
from winkube.lint.collector import calm_collector
from winkube.lint.formats import text
from winkube.lint.formats.registry import FORMATS
from winkube.lint.report import Report
from winkube.lint.run import LintConfig, Run, errors_in
from winkube.lint.sources import Charts, read_sources
from winkube.lint.suppress import CONFIG_NAME, FileConfig, load_config
from winkube.rules.model import Severity, Target
from winkube.rules.target import parse_targets, to_unsupported

if TYPE_CHECKING:
    from winkube.lint.cluster import Live

_UNUSABLE = 2


class UsageError(WinkubeError):
    pass


@dataclass(frozen=True, slots=True)
class Asked:
    paths: tuple[str, ...]
    target: Mapping[str, tuple[str, ...]]
    output: str = "text"
    fail_on: str = ""
    level: str = "warning"
    config: Path | None = None
    baseline: Path | None = None
    write_baseline: Path | None = None
    fix: bool = False
    dry_run: bool = False
    kubeconfig: Path | None = None
    context: str | None = None
    values: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    chinese: bool = False

    def check(self) -> None:
        """Refuse what contradicts itself; not on construction, because that has no exit code."""
        if self.output not in FORMATS:
            raise UsageError(f"unknown format {self.output!r}: one of {', '.join(FORMATS)}")
        if not self.paths and self.kubeconfig is None:
            raise UsageError("name files or folders, - for the standard input, or --cluster")
        if self.fix and "-" in self.paths:
            raise UsageError("--fix rewrites files; it cannot rewrite the standard input")


def kubeconfig(chosen: Path | None) -> Path:
    return chosen or kubeconfig_path()


def run(asked: Asked) -> int:
    """Do it; an option that cannot be used ends with 2 as well, so that 1 means findings only."""
    try:
        return _run(asked)
    except WinkubeError as error:
        print(f"winkube: {error}", file=sys.stderr)
        return _UNUSABLE


def _run(asked: Asked) -> int:
    asked.check()
    file = _file_config(asked.config)
    fail_on = _fail_on(asked.fail_on or file.fail_on or "error")
    live = _read_live(asked)
    targets = _targets(asked, file, live)
    config = LintConfig(targets, file.suppressions, _severity(asked.level))
    with calm_collector():
        if asked.fix:
            _fix(asked, config)
        report = _check(asked, config, live)
    if asked.write_baseline is not None:
        write_baseline(asked.write_baseline, report)
        print(f"wrote {len(report.findings)} findings to {asked.write_baseline}", file=sys.stderr)
        return report.exit_code(None)
    if asked.baseline is not None:
        hide_known(report, load_baseline(asked.baseline))
    _print(asked, report)
    return report.exit_code(fail_on)


def _check(asked: Asked, config: LintConfig, live: "Live | None") -> Report:
    lint = Run(config)
    for target in config.targets:
        reason = to_unsupported(target)
        if reason:
            lint.report.notes.append(f"there is no target {target}: {reason}")
    lint.add_sources(read_sources(asked.paths, _charts(asked, config)))
    if live is not None:
        lint.add_live(asked.context or "cluster", live.objects)
        lint.report.notes += [f"not read: {each}" for each in live.unread]
        if not live.targets:
            lint.report.notes.append("the cluster has no Windows node; checked for the default")
    return lint.finish()


def _charts(asked: Asked, config: LintConfig) -> Charts:
    """Charts ask for the version of the cluster; with several targets they get the newest."""
    newest = max((target.kubernetes for target in config.targets), key=lambda each: each.number)
    return Charts(str(newest), asked.values, asked.settings)


def _fix(asked: Asked, config: LintConfig) -> None:
    lint = Run(config)
    lint.add_sources(read_sources(asked.paths, _charts(asked, config)))
    lint.finish()
    said = sys.stdout if asked.output == "text" else sys.stderr
    for change in repair.plan_changes(lint.repairs, lambda text: errors_in(config, text)):
        said.write(change.diff())
        if not asked.dry_run:
            repair.apply_change(change)


def _print(asked: Asked, report: Report) -> None:
    if asked.output == "text":
        color = sys.stdout.isatty()
        for line in text.to_lines(report, color=color, chinese=asked.chinese):
            print(line)
    else:
        print(FORMATS[asked.output](report))


def _read_live(asked: Asked) -> "Live | None":
    if asked.kubeconfig is None:
        return None
    # The HTTP client takes longer to load than a folder to check.
    from winkube.client.config import load_kubeconfig
    from winkube.lint.cluster import read_cluster

    return asyncio.run(read_cluster(load_kubeconfig(asked.kubeconfig, asked.context)))


def _targets(asked: Asked, file: FileConfig, live: "Live | None") -> tuple[Target, ...]:
    if live is not None and live.targets and not asked.target:
        return live.targets
    return parse_targets(**{**file.target, **asked.target})


def _file_config(path: Path | None) -> FileConfig:
    if path is not None:
        return load_config(path)
    usual = Path(CONFIG_NAME)
    return load_config(usual) if usual.is_file() else FileConfig()


def _fail_on(word: str) -> Severity | None:
    return None if word == "never" else _severity(word)


def _severity(word: str) -> Severity:
    try:
        return Severity(word)
    except ValueError:
        known = ", ".join(Severity)
        raise UsageError(f"unknown severity {word!r}: one of {known}") from None
