from pathlib import Path

from winkube.lint.fix import Repair
from winkube.lint.repair import apply_change, plan_changes
from winkube.rules.model import Fix

REMOVE = Repair(0, ("a",), Fix("remove"))
ADD = Repair(0, ("b",), Fix("add", {"c": 1}))


def no_errors(text: str) -> frozenset[str]:
    return frozenset()


def test_a_file_keeps_its_mark_and_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes("\ufeffa: 1\r\nz: ü\r\n".encode())
    path.chmod(0o640)
    (change,) = plan_changes([(path, REMOVE), (path, ADD)], no_errors)
    assert "-\ufeffa: 1" in change.diff()
    apply_change(change)
    assert path.read_bytes() == "\ufeffz: ü\r\nb:\r\n  c: 1\r\n".encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["f.yaml"]


def test_a_repair_that_wakes_an_error_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("a: 1\nz: 1\n")

    def strict(text: str) -> frozenset[str]:
        return frozenset({"worse"} if "c:" in text else ())

    (change,) = plan_changes([(path, REMOVE), (path, ADD)], strict)
    assert change.after == "z: 1\n"
    assert list(plan_changes([(path, ADD)], strict)) == []


def test_a_file_that_is_no_utf8_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"a: \xfc\n")
    assert list(plan_changes([(path, REMOVE)], no_errors)) == []
