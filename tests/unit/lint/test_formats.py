import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from winkube.lint.formats.registry import FORMATS
from winkube.lint.formats.text import to_lines
from winkube.lint.report import Report
from winkube.lint.run import LintConfig, Run
from winkube.lint.sources import read_sources
from winkube.rules.model import Severity
from winkube.rules.target import parse_targets

TEXT = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec:
  hostPID: true
  nodeSelector: {kubernetes.io/os: windows}
  containers: [{name: a, image: "mcr.microsoft.com/windows/servercore:ltsc2019"}]
---
a: b: c
"""


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.chdir(tmp_path)
    Path("a b.yaml").write_text(TEXT)
    run = Run(LintConfig(parse_targets(windows=["ws2019,ws2022"]), least=Severity.WARNING))
    run.add_sources(read_sources(["a b.yaml", "absent.yaml"]))
    return run.finish()


def test_text_has_the_line_a_caret_the_reason_and_the_remedy(report: Report) -> None:
    text = "\n".join(to_lines(report))
    assert "a b.yaml:5:3: warning WIN-POD-002: " in text
    assert "  5 |   hostPID: true\n    |   ^^^^^^^^^^^^^\n" in text
    assert "    why: " in text
    assert "    do:  Remove hostPID" in text
    assert "    for: 1.37/ws2022" in text
    assert "a b.yaml:9:5: not YAML" in text
    assert "absent.yaml: no such file" in text
    assert text.endswith("(2 hidden by --level; 2 problems reading)") or "problems reading" in text


def test_text_is_there_in_chinese(report: Report) -> None:
    assert "Windows 没有可共享的主机进程名字空间" in "\n".join(to_lines(report, chinese=True))


def test_json_has_every_fact(report: Report) -> None:
    document = json.loads(FORMATS["json"](report))
    first = next(each for each in document["findings"] if each["rule"] == "WIN-POD-002")
    assert (first["line"], first["column"]) == (5, 3)
    assert first["object"]["namespace"] == "shop"
    assert first["fixable"] is True
    assert [each["line"] for each in document["problems"]] == [9, 0]


def test_sarif_has_rules_results_and_notifications(report: Report) -> None:
    document = json.loads(FORMATS["sarif"](report))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "a%20b.yaml"
        assert place["region"]["startLine"] > 0
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == 2


def test_github_commands_are_escaped(report: Report) -> None:
    lines = FORMATS["github"](report).splitlines()
    start = "::warning file=a b.yaml,title=WIN-POD-002 "
    (line,) = [each for each in lines if each.startswith(start)]
    assert ",line=5,col=3" in line
    assert all(line.startswith("::") for line in lines)


def test_junit_counts_failures_and_errors(report: Report) -> None:
    (suite,) = ElementTree.fromstring(FORMATS["junit"](report))
    assert suite.get("failures") == str(len(report.findings))
    assert suite.get("errors") == "2"
    assert len(suite) == int(suite.get("tests") or 0)


def test_exit_codes_tell_reading_from_finding(report: Report) -> None:
    assert report.exit_code(Severity.ERROR) == 2
    report.problems.clear()
    assert report.exit_code(Severity.ERROR) == 1
    assert report.exit_code(None) == 0
    report.findings = [each for each in report.findings if each.severity is Severity.WARNING]
    assert report.exit_code(Severity.ERROR) == 0
    assert report.exit_code(Severity.WARNING) == 1
