"""Findings as the lines that kubectl prints: one per rule, the worst first, a handful."""

from collections.abc import Sequence
from typing import Final

from winkube.rules.model import Finding, to_text

MOST_LINES: Final = 5
# A header line that is longer may be cut by the API server.
_LONGEST: Final = 250
_LONGEST_DETAIL: Final = 60


def to_lines(findings: Sequence[Finding], targets: int) -> tuple[str, ...]:
    """``targets``: how many there are; a finding that is not about all says which."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule.id, []).append(finding)
    lines = [_line(found, targets) for found in sorted(by_rule.values(), key=_order)]
    if len(lines) > MOST_LINES:
        left = len(lines) - MOST_LINES
        lines[MOST_LINES:] = [f"{left} more remarks of the Windows rules; winkube lint shows all"]
    return tuple(lines)


def _order(found: list[Finding]) -> tuple[int, str]:
    return found[0].rule.severity.rank, found[0].rule.id


def _line(found: list[Finding], targets: int) -> str:
    first, rule = found[0], found[0].rule
    parts = [to_text(first.path)]
    if len(found) > 1:
        parts[0] += f" and {len(found) - 1} more"
    if first.detail:
        parts.append(first.detail[:_LONGEST_DETAIL])
    if len(first.targets) < targets:
        parts.append("on " + ", ".join(str(target) for target in first.targets[:3]))
    said = f"{rule.id}: {rule.english.title} ({'; '.join(parts)}). {rule.english.remedy}"
    clean = "".join(letter if letter.isprintable() else " " for letter in said)
    return clean if len(clean) <= _LONGEST else clean[: _LONGEST - 3] + "..."
