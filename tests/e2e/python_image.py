"""A Linux image of winkube itself: this machine's Python, the packages winkube needs, its source.

What ``pip install`` in a Python base image gives, made without a registry: everything stands in the
image at the path it has here, so the interpreter and its libraries find each other.
"""

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from tests.conformance.layers import Entry, Image, make_layer, write_archive

SOURCE: Final = Path(__file__).parents[2] / "src" / "winkube"
_UNUSED: Final = frozenset(
    {"__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "ensurepip"}
)
_PROGRAM: Final = "#!{python}\nfrom winkube.cli.main import main\nmain()\n"


def write_winkube_image(path: Path, name: str) -> None:
    """An archive for ``winkube load`` with the one image."""
    python = Path(sys.executable).resolve()
    stdlib = Path(sysconfig.get_path("stdlib"))
    files = [python, *_files(stdlib), *_package_files("winkube"), *_files(SOURCE)]
    libraries = _libraries([file for file in files if file == python or ".so" in file.suffixes])
    entries = {_inside(file): Entry(file, mode=0o755) for file in (*files, *libraries)}
    program = _PROGRAM.format(python=python).encode()
    entries |= {
        "usr/local/bin/winkube": Entry(program, mode=0o755),
        "etc/passwd": Entry(b"root:x:0:0:root:/:/bin/false\n"),
        "etc/nsswitch.conf": Entry(b"hosts: files dns\n"),
        "tmp": Entry(mode=0o1777),
    }
    places = dict.fromkeys([SOURCE.parent, *(Path(p) for p in sys.path if p.endswith("-packages"))])
    variables = ["PATH=/usr/local/bin", f"PYTHONPATH={':'.join(map(str, places))}"]
    write_archive(path, [Image(name, [make_layer(entries)], {"Env": variables})])


def _files(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*")):
        unused = file.suffix == ".a" or _UNUSED & set(file.relative_to(folder).parts)
        if file.is_file() and not unused:
            yield file


def _package_files(name: str, seen: set[str] | None = None) -> Iterator[Path]:
    """What the package needs, and what that needs; not the package itself."""
    seen = seen if seen is not None else set()
    for requirement in distribution(name).requires or ():
        match = re.match(r"[\w.-]+", requirement)
        needed = match.group().lower() if match else ""
        if "extra ==" in requirement or needed in seen:
            continue
        seen.add(needed)
        try:
            found = distribution(needed)
        except PackageNotFoundError:  # for another system or another Python
            continue
        for file in found.files or ():
            place = Path(str(file.locate()))
            if ".." not in file.parts and "__pycache__" not in file.parts and place.is_file():
                yield place
        yield from _package_files(needed, seen)


def _libraries(programs: list[Path]) -> list[Path]:
    argv = ["ldd", *map(str, programs)]
    listing = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    return [Path(found) for found in sorted(set(re.findall(r"(/\S+) \(0x", listing)))]


def _inside(file: Path) -> str:
    return str(file).removeprefix("/")
