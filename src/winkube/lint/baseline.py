"""Findings that were there before: a file of fingerprints that do not contain line numbers."""

import collections
import hashlib
from pathlib import Path
from typing import Final

import orjson

from winkube.lint.errors import BaselineError
from winkube.lint.report import Located, Report

_VERSION: Final = 1


def fingerprint(found: Located) -> str:
    """The same as long as rule, file, object and field are the same."""
    ref = found.ref
    parts = (found.rule.id, found.source, ref.kind, ref.namespace, ref.name, found.path)
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]


def write_baseline(path: Path, report: Report) -> None:
    entries = sorted(
        (f"{found.rule.id} {found.source} {found.ref} {found.path}", fingerprint(found))
        for found in report.findings
    )
    document = {
        "version": _VERSION,
        "findings": [{"fingerprint": key, "finding": text} for text, key in entries],
    }
    data = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    path.write_bytes(data)


def load_baseline(path: Path) -> collections.Counter[str]:
    if path.exists() and not path.is_file():
        raise BaselineError(path, "not a regular file")  # a device may never end
    try:
        document = orjson.loads(path.read_bytes())
        if document["version"] != _VERSION:
            raise BaselineError(path, f"version {document['version']} is not known")
        return collections.Counter(entry["fingerprint"] for entry in document["findings"])
    except OSError as error:
        raise BaselineError(path, str(error.strerror)) from error
    except (orjson.JSONDecodeError, LookupError, TypeError) as error:
        raise BaselineError(path, "not a baseline; write one with --write-baseline") from error


def hide_known(report: Report, known: collections.Counter[str]) -> None:
    """Take out of a report as many findings as the baseline has of each."""
    left = known.copy()
    fresh = []
    for found in report.findings:
        key = fingerprint(found)
        if left[key] > 0:
            left[key] -= 1
            report.known += 1
        else:
            fresh.append(found)
    report.findings = fresh
