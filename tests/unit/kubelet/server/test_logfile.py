import io
import os
from pathlib import Path

import pytest

from winkube.base.clock import parse_rfc3339
from winkube.kubelet.server import logfile
from winkube.kubelet.server.logfile import LogFile, LogOptions, tail_offset


def line(second: int, text: str, *, stream: str = "stdout", tag: str = "F") -> str:
    return f"2026-01-01T00:00:{second:02d}.123456789Z {stream} {tag} {text}\n"


def read(path: Path, options: LogOptions | None = None) -> str:
    with LogFile(path, options or LogOptions()) as log:
        out = b""
        while (batch := log.read_batch()) is not None:
            out += batch
    return out.decode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "0.log"


def test_lines_come_out_without_their_envelope(path: Path) -> None:
    path.write_text(line(0, "one") + line(1, "two words", stream="stderr") + line(2, ""))
    assert read(path) == "one\ntwo words\n\n"


def test_pieces_of_a_line_are_joined(path: Path) -> None:
    path.write_text(line(0, "a", tag="P") + line(1, "b", tag="P") + line(2, "c"))
    assert read(path) == "abc\n"
    stamped = read(path, LogOptions(timestamps=True))
    assert stamped == "2026-01-01T00:00:00.123456789Z abc\n"


def test_timestamps_name_utc_as_upstream_does(path: Path) -> None:
    path.write_text(
        "2026-01-01T00:00:00.1+00:00 stdout F a\n2026-01-01T02:00:01+02:00 stdout F b\n"
    )
    stamped = read(path, LogOptions(timestamps=True))
    assert stamped == "2026-01-01T00:00:00.1Z a\n2026-01-01T02:00:01+02:00 b\n"


def test_what_is_no_log_line_is_left_out(path: Path) -> None:
    path.write_text("garbage\n" + line(0, "good") + "2026 stdlog F x\n\n" + "unfinished")
    assert read(path) == "good\n"


def test_lines_before_the_time_asked_for_are_left_out(path: Path) -> None:
    path.write_text("".join(line(second, str(second)) for second in range(5)))
    since = parse_rfc3339("2026-01-01T00:00:03Z")
    assert read(path, LogOptions(since=since)) == "3\n4\n"


@pytest.mark.parametrize("count", [0, 1, 3, 100, 5000])
def test_tail_is_found_from_the_end(path: Path, count: int) -> None:
    texts = [f"{number} " + "x" * (number % 300) for number in range(3000)]
    path.write_text("".join(line(number % 60, text) for number, text in enumerate(texts)))
    expected = texts[max(0, len(texts) - count) :] if count else []
    assert read(path, LogOptions(tail_lines=count)).splitlines() == expected


@pytest.mark.parametrize("block", [1, 2, 7, 64])
def test_tail_does_not_depend_on_where_blocks_end(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfile, "BLOCK", block)
    parts = [line(0, "a"), line(1, "b", tag="P"), line(2, "c"), line(3, "d")]
    whole = "".join(parts).encode()
    starts = {1: 3, 2: 1, 3: 0, 4: 0}
    for count, first in starts.items():
        for tail in (b"", b"2026-01-01T00 unfinish"):
            offset = tail_offset(io.BytesIO(whole + tail), count)
            assert offset == len("".join(parts[:first]))


def test_no_file_yet_is_no_output_yet(path: Path) -> None:
    with LogFile(path, LogOptions()) as log:
        assert log.read_batch() is None
        assert not log.follow_rotation()
        path.write_text(line(0, "late"))
        assert log.read_batch() == b"late\n"


def test_rotation_loses_nothing(path: Path) -> None:
    path.write_text(line(0, "one"))
    with LogFile(path, LogOptions(tail_lines=1)) as log:
        assert log.read_batch() == b"one\n"
        assert not log.follow_rotation()
        with path.open("a") as old:
            old.write(line(1, "two"))
        path.rename(path.with_suffix(".old"))
        path.write_text(line(2, "three") + line(3, "four"))
        assert log.follow_rotation()
        assert log.read_batch() == b"two\n"
        assert log.read_batch() is None
        assert log.follow_rotation()
        assert log.read_batch() == b"three\nfour\n"


def test_truncated_file_is_read_from_its_start(path: Path) -> None:
    path.write_text(line(0, "long enough to be longer"))
    with LogFile(path, LogOptions()) as log:
        log.read_batch()
        path.write_text(line(1, "new"))
        assert log.follow_rotation()
        assert log.read_batch() == b"new\n"


def test_a_link_or_a_pipe_in_place_of_the_log_is_not_read(tmp_path: Path) -> None:
    line = b"2024-01-01T00:00:00Z stdout F secret\n"
    (tmp_path / "host").write_bytes(line)
    (tmp_path / "0.log").symlink_to(tmp_path / "host")
    os.mkfifo(tmp_path / "1.log")
    for name in ("0.log", "1.log"):
        with LogFile(tmp_path / name, LogOptions()) as log:
            assert log.read_batch() is None


def test_a_log_is_still_until_something_comes(path: Path) -> None:
    with LogFile(path, LogOptions()) as log:
        assert log.is_still(), "there is no file yet"
        path.write_text(line(0, "one"))
        assert not log.is_still()
        assert log.read_batch() == b"one\n"
        assert log.is_still()
        with path.open("a") as file:
            file.write(line(1, "two"))
        assert not log.is_still()
        assert log.read_batch() == b"two\n"
        path.rename(path.with_name("old"))
        assert log.is_still()
        path.write_text("")
        assert not log.is_still(), "another file has its name"
