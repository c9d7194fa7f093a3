"""Compile our small Windows programs into layers, once per version of their sources.

A layer folder is named after a digest of everything that went into it and appears by one rename.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from winkube.base.errors import WinkubeError
from winkube.machines.wine.lock import locked
from winkube.machines.wine.recipe import CONTAINER_UID, DRIVE_C, PREFIX

COMPILER: Final = "x86_64-w64-mingw32-gcc"
_FLAGS: Final = ("-O2", "-s", "-municode", "-static", "-Wall")
_EDITION: Final = 1  # raise it when a layer's layout changes


class ToolchainError(WinkubeError):
    def __init__(self, program: str, words: str) -> None:
        super().__init__(f"cannot compile {program}: {words}")


@dataclass(frozen=True, slots=True)
class Program:
    source: str
    target: str  # below the layer
    libraries: tuple[str, ...] = ()


_SYSTEM32: Final = f"{DRIVE_C}/windows/system32"
_SOCKETS: Final = ("ws2_32", "iphlpapi")
TOOLS: Final = (
    Program("launch.c", "opt/winkube/launch.exe"),
    Program("curl.c", f"{_SYSTEM32}/curl.exe", _SOCKETS),
    Program("hostname.c", f"{_SYSTEM32}/hostname.exe", _SOCKETS),
    Program("ipconfig.c", f"{_SYSTEM32}/ipconfig.exe", _SOCKETS),
    Program("nslookup.c", f"{_SYSTEM32}/nslookup.exe", _SOCKETS),
    Program("ping.c", f"{_SYSTEM32}/ping.exe", _SOCKETS),
    Program("powershell.c", f"{_SYSTEM32}/WindowsPowerShell/v1.0/powershell.exe"),
    Program("tar.c", f"{_SYSTEM32}/tar.exe"),
    Program("whoami.c", f"{_SYSTEM32}/whoami.exe"),
)
IIS: Final = (Program("iis.c", f"{DRIVE_C}/ServiceMonitor.exe", _SOCKETS),)


def _source(name: str) -> bytes:
    return (resources.files("winkube.runtime") / "native" / name).read_bytes()


def _digest(programs: tuple[Program, ...], files: dict[str, bytes]) -> str:
    state = hashlib.sha256(repr((_EDITION, _FLAGS, programs)).encode())
    for program in programs:
        state.update(_source(program.source))
    for name, data in sorted(files.items()):
        state.update(name.encode() + b"\0" + data)
    return state.hexdigest()[:16]


def ensure_tools(cache: Path) -> Path:
    """The layer with the launcher and the commands Wine lacks or words differently."""
    return ensure_programs(cache, "tools", TOOLS, {})


def ensure_iis(cache: Path) -> Path:
    """The layer of the built-in IIS image: our web server in the places of IIS."""
    page = _source("iisstart.html")
    return ensure_programs(cache, "iis", IIS, {f"{DRIVE_C}/inetpub/wwwroot/iisstart.htm": page})


def ensure_programs(
    cache: Path, name: str, programs: tuple[Program, ...], files: dict[str, bytes]
) -> Path:
    final = cache / "programs" / f"{name}-{_digest(programs, files)}"
    if final.is_dir():
        return final
    with locked(final.with_name(f"{final.name}.lock")):
        if not final.is_dir():
            part = final.with_name(f"{final.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            for program in programs:
                _compile(program, part / program.target)
            for path, data in files.items():
                (part / path).parent.mkdir(parents=True, exist_ok=True)
                (part / path).write_bytes(data)
            _set_owners(part)
            part.rename(final)
    return final


def _compile(program: Program, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="winkube-cc-") as folder:
        source = Path(folder) / program.source
        source.write_bytes(_source(program.source))
        libraries = [f"-l{library}" for library in program.libraries]
        argv = [COMPILER, *_FLAGS, "-o", str(target), str(source), *libraries]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise ToolchainError(
                program.source, f"{COMPILER} is missing; run: apt-get install gcc-mingw-w64-x86-64"
            ) from None
    if done.returncode != 0:
        raise ToolchainError(program.source, done.stderr.strip()[-1000:])


def _set_owners(layer: Path) -> None:
    """Folders of a layer replace those below it, so they carry the owner and mode of the base."""
    layer.chmod(0o755)
    drive = layer / PREFIX
    for path in layer.rglob("*"):
        path.chmod(0o755)
        if path == drive or drive in path.parents:
            os.chown(path, CONTAINER_UID, CONTAINER_UID)
