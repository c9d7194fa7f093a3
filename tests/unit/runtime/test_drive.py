from pathlib import Path

import pytest

from winkube.runtime.drive import is_windows_path, parse_windows_path, resolve
from winkube.runtime.errors import InvalidArgumentError


@pytest.mark.parametrize(
    "text",
    ["C:\\var\\run", "c:/var/run", "\\var\\run", "/var/run", "var\\.\\run", "C:\\x\\..\\var\\run"],
)
def test_paths_on_the_drive_are_read_in_every_form(text: str) -> None:
    assert parse_windows_path(text) == ("var", "run")


def test_a_path_cannot_climb_above_the_drive() -> None:
    assert parse_windows_path("C:\\..\\..\\etc") == ("etc",)


@pytest.mark.parametrize("text", ["D:\\data", "C:\\file:stream", "C:\\a\0b"])
def test_what_is_not_on_the_drive_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_windows_path(text)


def test_linux_paths_of_the_kubelet_are_not_windows_paths() -> None:
    assert not is_windows_path("/var/lib/kubelet/pods/x")
    assert is_windows_path("C:\\var\\lib")


def test_existing_names_keep_their_case(tmp_path: Path) -> None:
    (tmp_path / "windows" / "system32").mkdir(parents=True)
    found = resolve(tmp_path, ("Windows", "System32", "Drivers"))
    assert found == tmp_path / "windows" / "system32" / "Drivers"


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc")
    with pytest.raises(InvalidArgumentError, match="is a link"):
        resolve(tmp_path, ("OUT", "passwd"))
