"""What a run found, ready to be written down in any format."""

from dataclasses import dataclass, field

from winkube.lint.positions import Position
from winkube.lint.reading import Problem
from winkube.rules.model import Finding, ObjectRef, Rule, Severity, Target, to_text


@dataclass(frozen=True, slots=True)
class Located:
    """A finding and its place; a live object has no line (0)."""

    finding: Finding
    source: str
    order: int
    position: Position
    severity: Severity
    targets: str = ""  # which of several targets it is about; empty is all

    @property
    def rule(self) -> Rule:
        return self.finding.rule

    @property
    def ref(self) -> ObjectRef:
        return self.finding.ref

    @property
    def path(self) -> str:
        return to_text(self.finding.path)

    @property
    def place(self) -> str:
        if not self.position.line:
            return f"{self.source}: {self.ref}: {self.path}"
        return f"{self.source}:{self.position.line}:{self.position.column}"

    @property
    def message(self) -> str:
        detail = f" ({self.finding.detail})" if self.finding.detail else ""
        return f"{self.rule.english.title}{detail}"


@dataclass(slots=True)
class Report:
    targets: tuple[Target, ...]
    findings: list[Located] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    objects: int = 0
    files: int = 0
    suppressed: int = 0
    known: int = 0  # in the baseline
    hidden: int = 0  # less severe than asked for

    def count(self, severity: Severity) -> int:
        return sum(1 for found in self.findings if found.severity is severity)

    def exit_code(self, fail_on: Severity | None) -> int:
        """2: something could not be read; 1: a finding as bad as ``fail_on``; 0: neither."""
        if self.problems:
            return 2
        if fail_on is None:
            return 0
        return int(any(found.severity.rank <= fail_on.rank for found in self.findings))
