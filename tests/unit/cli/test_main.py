"""What a person sees who types a command wrongly, or stops one."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from winkube.base.errors import WinkubeError
from winkube.base.paths import Home
from winkube.cli.app import app
from winkube.cli.outcome import tell_errors
from winkube.cluster.lifecycle import check_unchanged
from winkube.cluster.spec import ClusterSpec, plan_nodes
from winkube.cluster.state import ClusterState


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINKUBE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("WINKUBE_RUN", str(tmp_path / "run"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["upp"], "No such command 'upp'"),
        (["up", "--nosuch"], "No such option"),
        (["up", "--linux", "many"], "--linux"),
        (["up", "extra"], "extra"),
        (["load"], "Missing argument"),
        (["load", "/nosuch.tar"], "does not exist"),
        (["export-logs", "/etc/passwd"], "is a file"),
    ],
    ids=["command", "option", "number", "argument", "missing", "no-file", "no-folder"],
)
def test_a_usage_error_is_a_sentence_and_exit_code_2(words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, words, color=False)
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code == 2
    assert said in done.output


def test_no_arguments_show_the_commands() -> None:
    done = CliRunner().invoke(app, [])
    assert isinstance(done.exception, SystemExit)
    for command in ("up", "down", "ls", "status", "load", "images", "export-logs", "version"):
        assert command in done.output


def test_the_version_is_an_option_too() -> None:
    assert CliRunner().invoke(app, ["--version"]).output.startswith("winkube ")


@pytest.mark.parametrize("command", ["status", "images", "export-logs"])
def test_a_cluster_that_is_not_there_is_named(home: Path, command: str) -> None:
    done = CliRunner().invoke(app, [command, "--name", "nosuch"])
    assert done.exit_code == 1
    assert "there is no cluster 'nosuch'" in done.output


@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "stopped"),
        (WinkubeError("too bad"), 1, "winkube: too bad"),
        (PermissionError(13, "Permission denied", "/x"), 1, "Permission denied"),
    ],
    ids=["interrupt", "ours", "system"],
)
def test_a_failure_is_a_sentence(
    failure: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise failure

    with pytest.raises(SystemExit) as ended:
        tell_errors(command)()
    if isinstance(ended.value.code, str):  # what the interpreter prints, with exit code 1
        assert code == 1
        assert said in ended.value.code
    else:
        assert ended.value.code == code
        assert said in capsys.readouterr().err


def test_a_cluster_that_exists_is_not_changed_in_silence(home: Path) -> None:
    spec = ClusterSpec(name="made", nodes=plan_nodes(1, 2))
    ClusterState(spec, "172.30.9.0/24", 6443, Home.load()).save()
    done = CliRunner().invoke(app, ["up", "--name", "made", "--windows", "3"])
    assert done.exit_code == 1
    assert "exists already, with 1 Linux and 2 Windows nodes" in done.output
    check_unchanged(Home.load(), spec)
