"""The folder a new Linux node's containerd begins with: our images are in it, unpacked.

It is made once per machine, by a containerd of its own, and copied for each node: a copy takes
hundredths of a second, while an import takes a second for which every ``up`` would wait.
"""

import hashlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from winkube.aio.command import CommandError
from winkube.base.errors import WinkubeError
from winkube.cluster.images import ensure_linux_images
from winkube.linux.command import run
from winkube.machines.wine.lock import locked

_PROGRAM: Final = "containerd"
_START_SECONDS: Final = 30.0
_CONFIG: Final = """\
version = 2
root = "{folder}/root"
state = "{folder}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]

[grpc]
  address = "{socket}"
"""


def ensure_template(cache: Path) -> Path:
    """The folder to copy; made when this containerd or these images have not been seen before."""
    archive = ensure_linux_images(cache)
    final = cache / f"containerd-{_version(archive)}"
    if final.is_dir():
        return final
    with locked(cache / f"{final.name}.lock"):
        if not final.is_dir():
            part = cache / f"{final.name}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(mode=0o700)
            _build(part, archive)
            (part / "root").rename(final)
            shutil.rmtree(part)
    return final


def fill_root(template: Path, root: Path) -> None:
    """Give a node that has none its folder; it appears complete or not at all."""
    if root.exists():
        return
    part = root.with_name(f"{root.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(template, part, symlinks=True)
    part.rename(root)


def _version(archive: Path) -> str:
    """A new containerd may keep its files differently."""
    program = shutil.which(_PROGRAM)
    facts = Path(program).stat() if program else None
    seen = (archive.name, _CONFIG, facts and (facts.st_size, facts.st_mtime_ns))
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]


def _build(folder: Path, archive: Path) -> None:
    # A socket's path may not be long, a cache's may.
    with tempfile.TemporaryDirectory(prefix="winkube-") as short:
        socket = Path(short, "socket")
        config = folder / "config.toml"
        config.write_text(_CONFIG.format(folder=folder, socket=socket))
        with _containerd(config, folder / "log") as process:
            _await_listener(process, socket)
            argv = ["ctr", "--address", str(socket), "--namespace", "k8s.io", "images", "import"]
            run([*argv, "--snapshotter", "overlayfs", str(archive)])


@contextmanager
def _containerd(config: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        # It goes with us, however we go.
        argv = ["setpriv", "--pdeathsig", "KILL", _PROGRAM, "--config", str(config)]
        process = subprocess.Popen(
            argv, stdout=output, stderr=output, stdin=subprocess.DEVNULL, umask=0o022
        )
    try:
        yield process
    except (CommandError, TimeoutError) as error:
        words = log.read_text(errors="replace")[-500:]
        raise WinkubeError(f"cannot prepare the images of Linux nodes: {error}: {words}") from error
    finally:
        process.terminate()
        process.wait()


def _await_listener(process: subprocess.Popen[bytes], socket: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not socket.is_socket():
        if process.poll() is not None or time.monotonic() > deadline:
            raise TimeoutError("containerd does not listen")
        time.sleep(0.02)
