import os
from pathlib import Path

import pytest

from winkube.runtime.launch import (
    Orders,
    Report,
    parse_report,
    read_report,
    to_orders,
    write_orders,
)


def test_orders_are_entries_ended_by_nul() -> None:
    orders = Orders("a.exe", "C:\\", {"K": "v=1"}, stdin=True)
    assert to_orders(orders, "/r") == (b"command=a.exe\0cwd=C:\\\0report=/r\0stdin=1\0env=K=v=1\0")


def test_a_nul_in_a_value_cannot_add_an_entry() -> None:
    data = to_orders(Orders("a", "C:\\", {"K": "v\0tty=1"}), "/r")
    assert b"\0tty=1\0" not in data


def test_exit_codes_have_32_bits() -> None:
    assert parse_report(b"started\nexited 3221225786\n") == Report(True, None, 3221225786)


def test_a_failed_start_has_windows_words() -> None:
    report = parse_report(b"failed 2 File not found.\n")
    assert report.failure == "The system cannot find the file specified."


def test_nonsense_in_the_report_is_ignored() -> None:
    assert parse_report(b"exited many\n\xff\xfe hello\n") == Report()


def test_a_link_in_place_of_the_report_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("exited 5\n")
    (tmp_path / "main.report").symlink_to(tmp_path / "secret")
    assert read_report(tmp_path, "main") == Report()


def test_only_a_terminal_is_told_to_leave_keys_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fchown", lambda *args: None)  # only root may give files away
    plain = write_orders(tmp_path, "main", Orders("cmd", "C:\\"))
    shown = write_orders(tmp_path, "exec", Orders("cmd", "C:\\", tty=True))
    assert "stty" not in " ".join(plain)
    assert "-icanon" in shown[2]
    assert shown[-3:-1] == plain[:-1]
