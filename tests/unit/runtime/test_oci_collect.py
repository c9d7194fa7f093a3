import json
from pathlib import Path

from winkube.runtime.oci.collect import adding, collect, register

LATER = 4e9  # seconds: after every file of the tests


def add_image(root: Path, blob: str, layer: str) -> None:
    record = {"blobs": [f"sha256:{blob}"], "layers": [f"sha256:{layer}"]}
    (root / "images").mkdir(parents=True, exist_ok=True)
    (root / "images" / f"{blob}.json").write_text(json.dumps(record))


def fill(cache: Path) -> None:
    (cache / "blobs").mkdir(parents=True)
    for name in ("b1", "b2", ".part-x"):
        (cache / "blobs" / name).write_text(name)
    for name in ("l1", "l2", "l3.part"):
        (cache / "layers" / "base" / name / "wine").mkdir(parents=True)
    (cache / "layers" / "base" / "l2.lock").touch()


def left(cache: Path) -> set[str]:
    found = (*(cache / "blobs").iterdir(), *(cache / "layers" / "base").iterdir())
    return {path.name for path in found}


def test_what_no_image_of_any_root_needs_goes(tmp_path: Path) -> None:
    cache, one, other = (tmp_path / name for name in ("cache", "one", "other"))
    fill(cache)
    add_image(one, "b1", "l1")
    (other / "images").mkdir(parents=True)
    for root in (one, other):
        register(cache, root)
    assert collect(cache, unused_since=LATER) == 4
    assert left(cache) == {"b1", "l1", "l2.lock"}


def test_a_container_keeps_the_layers_of_a_removed_image(tmp_path: Path) -> None:
    cache, root = tmp_path / "cache", tmp_path / "root"
    fill(cache)
    record = root / "containers" / "c" / "state.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"layers": [str(cache / "layers" / "base" / "l2")]}))
    register(cache, root)
    collect(cache, unused_since=LATER)
    assert left(cache) == {"l2", "l2.lock"}


def test_a_root_that_is_no_more_keeps_nothing(tmp_path: Path) -> None:
    fill(tmp_path / "cache")
    register(tmp_path / "cache", tmp_path / "gone")
    collect(tmp_path / "cache", unused_since=LATER)
    assert left(tmp_path / "cache") == {"l2.lock"}
    assert not any((tmp_path / "cache" / "roots").iterdir())


def test_young_files_stay(tmp_path: Path) -> None:
    fill(tmp_path)
    assert collect(tmp_path, unused_since=1.0) == 0


async def test_nothing_goes_while_an_image_arrives(tmp_path: Path) -> None:
    fill(tmp_path)
    async with adding(tmp_path), adding(tmp_path):
        assert collect(tmp_path, unused_since=LATER) == 0
    assert collect(tmp_path, unused_since=LATER) == 6


def test_a_record_that_cannot_be_read_keeps_everything(tmp_path: Path) -> None:
    cache, root = tmp_path / "cache", tmp_path / "root"
    fill(cache)
    add_image(root, "b1", "l1")
    (root / "images" / "b1.json").write_text("{")
    register(cache, root)
    assert collect(cache, unused_since=LATER) == 0
