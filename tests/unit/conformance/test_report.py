"""Ginkgo's report as a table."""

import json
from pathlib import Path
from typing import Any

from tests.conformance.report import merge, read_report, to_table


def spec(state: str, message: str = "", kind: str = "It") -> dict[str, Any]:
    return {
        "State": state,
        "LeafNodeType": kind,
        "LeafNodeText": f"does {state}",
        "ContainerHierarchyTexts": ["[sig-x]"],
        "Failure": {"Message": message, "Location": {"FileName": "/a/b.go", "LineNumber": 7}},
    }


def test_tests_are_counted_by_what_became_of_them(tmp_path: Path) -> None:
    specs = [
        spec("passed"),
        spec("passed", kind="BeforeSuite"),
        spec("skipped"),
        spec("skipped", "needs a cloud"),
        spec("failed", "no\n  pod"),
    ]
    path = tmp_path / "sig-x-parallel.json"
    path.write_text(json.dumps([{"SpecReports": specs, "RunTime": 2_000_000_000}]))
    result = read_report(path)
    assert (result.passed, result.skipped, result.seconds) == (1, 1, 2.0)
    assert result.failed == (("[sig-x] does failed", "no pod (b.go:7)"),)
    table = to_table([merge("sig-x", [result, result])]).splitlines()
    assert table[1].split() == ["sig-x", "2", "2", "2", "4"]
    assert table[2] == "FAILED [sig-x] does failed"


def test_a_run_without_a_report_failed(tmp_path: Path) -> None:
    assert read_report(tmp_path / "sig-x-serial.json").failed
