"""Where things are kept."""

from pathlib import Path

import pytest

from winkube.base.paths import Home, InvalidNameError


@pytest.mark.parametrize("name", ["../etc", "", "A", "a/b", "-a", "a-", "a" * 33, "a\0b", "a.b"])
def test_names_that_could_leave_the_folder_are_refused(name: str) -> None:
    with pytest.raises(InvalidNameError):
        Home().cluster(name)
    with pytest.raises(InvalidNameError):
        Home().cluster("ok").node(name)


def test_socket_paths_fit_into_a_unix_address() -> None:
    node = Home().cluster("a" * 32).node("win-64")
    assert len(str(node.cri_socket)) < 108


def test_roots_follow_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WINKUBE_HOME", str(tmp_path))
    assert Home.load().cluster("demo").pki == tmp_path / "clusters" / "demo" / "pki"
