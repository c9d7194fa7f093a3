"""One run: read, judge, suppress, locate, sort."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import NamedTuple

from winkube.base.types import JsonObject
from winkube.lint.fix import Repair
from winkube.lint.positions import Position
from winkube.lint.reading import Document, Problem, parse_file
from winkube.lint.report import Located, Report
from winkube.lint.sources import Source
from winkube.lint.suppress import Suppressions
from winkube.rules.engine import Engine, Ruleset
from winkube.rules.ignore import is_ignored_by_object
from winkube.rules.model import Finding, Path, Severity, Target


class _Place(NamedTuple):
    """Where an object is; a live object has no document."""

    source: str
    order: int
    document: Document | None
    at: Path
    value: JsonObject
    path: FilePath | None = None


@dataclass(frozen=True, slots=True)
class LintConfig:
    targets: tuple[Target, ...]
    suppressions: Suppressions = field(default_factory=Suppressions)
    least: Severity = Severity.INFO  # findings below it are not shown


class Run:
    """Collects the findings of many files; memory grows with findings only."""

    def __init__(self, config: LintConfig) -> None:
        self._config = config
        self._engine: Engine[_Place] = Engine(Ruleset(config.targets))
        self.report = Report(config.targets)
        self.repairs: list[tuple[FilePath, Repair]] = []

    def add_sources(self, sources: Iterable[Source | Problem]) -> None:
        for source in sources:
            if isinstance(source, Problem):
                self.report.problems.append(source)
            else:
                self.add_file(source)

    def add_file(self, source: Source) -> None:
        self.report.files += 1
        for part in parse_file(source.name, source.data):
            if isinstance(part, Problem):
                self.report.problems.append(part)
                continue
            for at, value in part.objects():
                place = _Place(source.name, self.report.files, part, at, value, source.path)
                self._feed(place)

    def add_live(self, source: str, objects: Iterable[JsonObject]) -> None:
        """Objects of a running cluster."""
        self.report.files += 1
        for value in objects:
            self._feed(_Place(source, self.report.files, None, (), value))

    def finish(self) -> Report:
        self._take(self._engine.finish())
        self.report.findings.sort(key=_order)
        return self.report

    def _feed(self, place: _Place) -> None:
        self.report.objects += 1
        self._take(self._engine.feed(place.value, place))

    def _take(self, found: Iterable[tuple[_Place, Finding]]) -> None:
        for place, finding in found:
            severity = self._config.suppressions.severity(finding, place.source)
            if severity is None or is_ignored_by_object(finding, place.value):
                self.report.suppressed += 1
            elif severity.rank > self._config.least.rank:
                self.report.hidden += 1
            else:
                self.report.findings.append(self._located(place, finding, severity))
                self._keep_repair(place, finding)

    def _located(self, place: _Place, finding: Finding, severity: Severity) -> Located:
        position = Position(0, 0, 0, "")
        if place.document is not None:
            position = place.document.positions.locate(place.at + finding.path)
        everywhere = len(finding.targets) == len(self._config.targets)
        targets = "" if everywhere else ", ".join(str(target) for target in finding.targets)
        return Located(finding, place.source, place.order, position, severity, targets)

    def _keep_repair(self, place: _Place, finding: Finding) -> None:
        fix, document = finding.rule.fix, place.document
        if fix is not None and document is not None and place.path is not None:
            repair = Repair(document.offset, place.at + finding.fix_path, fix)
            self.repairs.append((place.path, repair))


def _order(found: Located) -> tuple[int, int, int, str]:
    return found.order, found.position.line, found.position.column, found.rule.id


def lint(config: LintConfig, sources: Iterable[Source | Problem]) -> Report:
    run = Run(config)
    run.add_sources(sources)
    return run.finish()


def errors_in(config: LintConfig, text: str) -> frozenset[str]:
    """What is wrong in a text, by rule and object."""
    report = lint(config, [Source("", text.encode())])
    errors = [found for found in report.findings if found.severity is Severity.ERROR]
    return frozenset(f"{found.rule.id} {found.ref}" for found in errors)
