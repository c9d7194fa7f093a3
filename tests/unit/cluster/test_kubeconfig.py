"""The user's kubeconfig is changed only where it must be."""

from pathlib import Path

import pytest
import yaml

from winkube.cluster.kubeconfig import KubeconfigError, merge_into, remove_from

ADDITION = {
    "clusters": [{"name": "winkube", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "winkube", "user": {}}],
    "contexts": [{"name": "winkube", "context": {"cluster": "winkube", "user": "winkube"}}],
    "current-context": "winkube",
}


def test_merging_and_removing_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "config"
    before = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "prod", "cluster": {"server": "https://prod"}}],
        "users": None,
        "contexts": [{"name": "prod", "context": {"cluster": "prod"}}],
        "current-context": "prod",
        "preferences": {"colors": True},
    }
    path.write_text(yaml.safe_dump(before))
    merge_into(path, ADDITION)
    merge_into(path, ADDITION)
    merged = yaml.safe_load(path.read_text())
    assert [c["name"] for c in merged["clusters"]] == ["prod", "winkube"]
    assert merged["current-context"] == "winkube"
    assert path.stat().st_mode & 0o777 == 0o600
    remove_from(path, "winkube")
    left = yaml.safe_load(path.read_text())
    assert left["clusters"] == before["clusters"]
    assert left["preferences"] == {"colors": True}
    assert left["current-context"] == ""


def test_a_link_is_followed_and_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("")
    link.symlink_to(real)
    merge_into(link, ADDITION)
    assert link.is_symlink()
    assert "winkube" in real.read_text()


def test_a_broken_file_is_named_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("a: [")
    with pytest.raises(KubeconfigError, match="config"):
        merge_into(path, ADDITION)
    assert path.read_text() == "a: ["


def test_removing_from_nothing_is_nothing(tmp_path: Path) -> None:
    remove_from(tmp_path / "none", "winkube")
    assert not (tmp_path / "none").exists()
