import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from winkube.cli.app import app

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  hostPID: true  # why
  # where
  os: {name: windows}
  containers: [{name: a, image: b}]
"""
runner = CliRunner()


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return path


def test_findings_end_with_1_and_unreadable_input_with_2(manifest: Path) -> None:
    assert runner.invoke(app, ["lint", "pod.yaml"]).exit_code == 1
    assert runner.invoke(app, ["lint", "pod.yaml", "--fail-on", "never"]).exit_code == 0
    assert runner.invoke(app, ["lint", "pod.yaml", "absent"]).exit_code == 2
    assert runner.invoke(app, ["lint", "pod.yaml", "--windows", "xp"]).exit_code == 2
    assert runner.invoke(app, ["lint"]).exit_code == 2


def test_the_standard_input_is_read(manifest: Path) -> None:
    result = runner.invoke(app, ["lint", "-", "-o", "json"], input=POD)
    assert json.loads(result.stdout)["findings"][0]["file"] == "<stdin>"


def test_fix_shows_a_diff_and_rewrites_the_file_once(manifest: Path) -> None:
    dry = runner.invoke(app, ["lint", "pod.yaml", "--fix", "--dry-run"])
    assert "-  hostPID: true  # why" in dry.stdout
    assert manifest.read_text() == POD
    result = runner.invoke(app, ["lint", "pod.yaml", "--fix"])
    assert result.exit_code == 0
    assert "+  nodeSelector:" in result.stdout
    text = manifest.read_text()
    assert "# where" in text
    again = runner.invoke(app, ["lint", "pod.yaml", "--fix"])
    assert "+++" not in again.stdout
    assert manifest.read_text() == text


def test_the_config_file_of_the_folder_is_used(manifest: Path) -> None:
    Path(".winkube-lint.yaml").write_text("ignore: ['WIN-*']\n")
    assert runner.invoke(app, ["lint", "."]).exit_code == 0
    Path(".winkube-lint.yaml").write_text("kubernetes: '1.19'\nwindows: [ws2019]\n")
    assert "1.19/ws2019" in runner.invoke(app, ["lint", "."]).stdout


def test_a_baseline_makes_old_findings_silent(manifest: Path) -> None:
    assert runner.invoke(app, ["lint", ".", "--write-baseline", "b.json"]).exit_code == 0
    assert runner.invoke(app, ["lint", ".", "--baseline", "b.json"]).exit_code == 0


def test_a_rule_is_explained_in_two_languages() -> None:
    english = runner.invoke(app, ["explain", "WIN-POD-001"])
    assert "enforced by: api" in english.stdout
    assert (
        "执行者: api" in runner.invoke(app, ["explain", "WIN-POD-001", "--language", "zh"]).stdout
    )
    assert "WIN-SCHED-001" in runner.invoke(app, ["explain"]).stdout
