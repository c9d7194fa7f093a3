"""The end of a log as a container's last words."""

from pathlib import Path

import pytest
from tests.unit.kubelet.conftest import make_config

from winkube.kubelet.pod.message import read_message
from winkube.kubelet.pod.state import Container, Phase
from winkube.kubelet.volume.mounts import message_file


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("2026-01-01T00:00:00.0Z stdout P DONE\n", "DONE"),
        ("2026-01-01T00:00:00.0Z stdout F DONE\n", "DONE\n"),
        ("2026-01-01T00:00:00.0Z stdout P a\n2026-01-01T00:00:00.0Z stdout F b\n", "ab\n"),
        ("2026-01-01T00:00:00.0Z stderr F a\x0bb\n", "a\x0bb\n"),
    ],
)
def test_only_the_programs_own_ends_of_lines_are_kept(
    tmp_path: Path, log: str, message: str
) -> None:
    path = tmp_path / "0.log"
    path.write_text(log)
    container = Container(
        id="c",
        name="main",
        sandbox_id="s",
        phase=Phase.EXITED,
        exit_code=1,
        log_path=str(path),
        message_policy="FallbackToLogsOnError",
    )
    assert read_message(make_config(tmp_path, "linux"), "uid", container) == message


def test_a_long_message_is_known_by_its_end_after_what_the_runtime_says(tmp_path: Path) -> None:
    config = make_config(tmp_path, "linux")
    container = Container(
        id="c", name="main", sandbox_id="s", phase=Phase.EXITED, exit_code=1, message="killed"
    )
    assert read_message(config, "uid", container) == "killed"
    file = message_file(config, "uid", "main", 0)
    file.parent.mkdir(parents=True)
    file.write_text("x" * 5000 + "the end")
    found = read_message(config, "uid", container)
    assert found == "killed: " + "x" * (4096 - len("the end")) + "the end"
