"""Images written for the conformance tests are read by our own reader."""

import io
import tarfile
from pathlib import Path

from tests.conformance.layers import Entry, Image, make_layer, write_archive

from winkube.cluster.loading import read_systems


def test_a_layer_has_files_links_and_folders_with_their_modes(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"run")
    layer = make_layer(
        {
            "tmp": Entry(mode=0o1777),
            "bin/run": Entry(program, mode=0o6755),
            "bin/other": Entry(link="run"),
        }
    )
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        modes = {member.name: (member.type, member.mode) for member in tar}
        assert modes["bin"] == (tarfile.DIRTYPE, 0o755)
        assert modes["tmp"] == (tarfile.DIRTYPE, 0o1777)
        assert modes["bin/run"] == (tarfile.REGTYPE, 0o6755)
        assert tar.getmember("bin/other").linkname == "run"


def test_an_archive_has_images_of_both_systems(tmp_path: Path) -> None:
    layer = make_layer({"a": Entry(b"a")})
    path = tmp_path / "images.tar"
    write_archive(path, [Image("r/a:1", (layer,)), Image("r/b:1", (layer,), os="windows")])
    assert read_systems(path) == {"linux": ["r/a:1"], "windows": ["r/b:1"]}
