"""A Linux node's containerd begins with a copy of a folder that has our images."""

from pathlib import Path

from winkube.cluster.linux_root import fill_root


def _template(folder: Path) -> Path:
    template = folder / "template"
    (template / "content").mkdir(parents=True)
    (template / "content" / "blob").write_bytes(b"layer")
    (template / "content" / "blob").chmod(0o755)
    (template / "link").symlink_to("busybox")
    return template


def test_a_new_node_gets_a_copy_of_its_own(tmp_path: Path) -> None:
    template, root = _template(tmp_path), tmp_path / "node" / "runtime"
    root.parent.mkdir()
    fill_root(template, root)
    assert (root / "content" / "blob").read_bytes() == b"layer"
    assert (root / "content" / "blob").stat().st_mode & 0o777 == 0o755
    assert (root / "link").readlink() == Path("busybox")
    (root / "content" / "blob").write_bytes(b"changed")
    assert (template / "content" / "blob").read_bytes() == b"layer"


def test_a_node_that_has_its_folder_keeps_it(tmp_path: Path) -> None:
    template, root = _template(tmp_path), tmp_path / "runtime"
    root.mkdir()
    (root / "meta.db").write_bytes(b"containers")
    fill_root(template, root)
    assert [path.name for path in root.iterdir()] == ["meta.db"]


def test_a_copy_that_was_cut_short_is_made_again(tmp_path: Path) -> None:
    template, root = _template(tmp_path), tmp_path / "runtime"
    (tmp_path / "runtime.part" / "content").mkdir(parents=True)
    fill_root(template, root)
    assert (root / "content" / "blob").exists()
    assert not (tmp_path / "runtime.part").exists()
