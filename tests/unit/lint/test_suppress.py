from pathlib import Path

import pytest

from winkube.lint.baseline import hide_known, load_baseline, write_baseline
from winkube.lint.errors import BaselineError, ConfigError, LintError
from winkube.lint.report import Report
from winkube.lint.run import LintConfig, lint
from winkube.lint.sources import Source
from winkube.lint.suppress import FileConfig, Suppressions, load_config
from winkube.rules.model import Severity
from winkube.rules.target import parse_targets

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: a
  annotations: {ANNOTATIONS}
spec:
  hostPID: true
  hostIPC: true
  nodeSelector: {kubernetes.io/os: windows}
  containers: [{name: a, image: b}]
"""


def run(text: str, suppressions: Suppressions | None = None, name: str = "f.yaml") -> Report:
    config = LintConfig(parse_targets(), suppressions or Suppressions(), Severity.WARNING)
    return lint(config, [Source(name, text.encode())])


def ids(report: Report) -> list[str]:
    """Only the rules these tests are about: there will be more that find something."""
    known = ("WIN-POD-002", "WIN-POD-004", "WIN-POD-006")
    return [found.rule.id for found in report.findings if found.rule.id in known]


def config(tmp_path: Path, text: str) -> FileConfig:
    path = tmp_path / ".winkube-lint.yaml"
    path.write_text(text)
    return load_config(path)


@pytest.mark.parametrize(
    ("annotation", "left"),
    [
        ("{}", ["WIN-POD-002", "WIN-POD-004"]),
        ("{winkube.dev/lint-ignore: WIN-POD-002}", ["WIN-POD-004"]),
        ("{winkube.dev/lint-ignore: 'WIN-POD-002, WIN-POD-004'}", []),
        ("{winkube.dev/lint-ignore: WIN-POD-*}", []),
        ("{winkube.dev/lint-ignore: 5}", ["WIN-POD-002", "WIN-POD-004"]),
    ],
)
def test_an_annotation_takes_findings_away(annotation: str, left: list[str]) -> None:
    report = run(POD.replace("{ANNOTATIONS}", annotation))
    assert ids(report) == left
    assert report.suppressed >= 2 - len(left)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("ignore: [WIN-POD-002]", ["WIN-POD-004"]),
        ("ignore: [{rules: WIN-POD-002, paths: ['g*']}]", ["WIN-POD-002", "WIN-POD-004"]),
        ("ignore: [{rules: [WIN-POD-002], kinds: [Pod], names: [a], reason: x}]", ["WIN-POD-004"]),
        ("severity: {WIN-POD-002: off}", ["WIN-POD-004"]),
        ("severity: {WIN-POD-002: info}", ["WIN-POD-004"]),
        ("", ["WIN-POD-002", "WIN-POD-004"]),
    ],
)
def test_the_config_file_takes_findings_away(tmp_path: Path, text: str, left: list[str]) -> None:
    pod = POD.replace("{ANNOTATIONS}", "{}")
    assert ids(run(pod, config(tmp_path, text).suppressions)) == left


@pytest.mark.parametrize(
    "text", ["[", "- a", "nonsense: 1", "severity: {A: bad}", "ignore: [{a: b}]"]
)
def test_a_config_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"winkube-lint\.yaml"):
        config(tmp_path, text)


def test_a_baseline_hides_what_was_there_and_shows_what_is_new(tmp_path: Path) -> None:
    pod = POD.replace("{ANNOTATIONS}", "{}")
    path = tmp_path / "baseline.json"
    write_baseline(path, run(pod))
    moved = run("# a new line\n" + pod)
    hide_known(moved, load_baseline(path))
    assert moved.findings == []
    assert moved.known >= 2
    more = run(pod + "  shareProcessNamespace: true\n")
    hide_known(more, load_baseline(path))
    assert ids(more) == ["WIN-POD-006"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version": 9, "findings": []}'])
def test_a_baseline_that_makes_no_sense_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(BaselineError):
        load_baseline(path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"kubernetes: [x\n", "line 2: not YAML"),
        (b"a: &a [*a]\n", "line 1: an anchor contains itself"),
        (b"\xff\xfe\xff", "not UTF-8"),
    ],
)
def test_a_config_file_that_cannot_be_read_is_named_with_its_line(
    tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "lint.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_devices_are_neither_config_nor_baseline() -> None:
    for load in (load_config, load_baseline):
        with pytest.raises(LintError, match="not a regular file"):
            load(Path("/dev/zero"))
