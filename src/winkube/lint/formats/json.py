"""For programs: one JSON document."""

from typing import Any

import orjson

from winkube.lint.report import Located, Report
from winkube.rules.model import Severity


def to_json(report: Report) -> str:
    document = {
        "version": 1,
        "targets": [str(target) for target in report.targets],
        "summary": {
            "objects": report.objects,
            "files": report.files,
            "suppressed": report.suppressed,
            "baseline": report.known,
            **{severity.value: report.count(severity) for severity in Severity},
        },
        "findings": [_finding(found) for found in report.findings],
        "problems": [
            {
                "file": problem.source,
                "line": problem.line,
                "column": problem.column,
                "message": problem.message,
            }
            for problem in report.problems
        ],
        "notes": report.notes,
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def _finding(found: Located) -> dict[str, Any]:
    text = found.rule.english
    return {
        "rule": found.rule.id,
        "severity": found.severity.value,
        "effect": found.rule.effect.value,
        "enforced": found.rule.enforced.value,
        "file": found.source,
        "line": found.position.line,
        "column": found.position.column,
        "object": {
            "apiVersion": found.ref.api_version,
            "kind": found.ref.kind,
            "namespace": found.ref.namespace,
            "name": found.ref.name,
        },
        "path": found.path,
        "title": text.title,
        "detail": found.finding.detail,
        "message": text.message,
        "remedy": text.remedy,
        "fixable": found.rule.fix is not None,
        "targets": [str(target) for target in found.finding.targets],
    }
