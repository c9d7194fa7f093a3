"""Take away blobs and layers of the shared cache that no image and no container needs.

Theory of operation: every runtime that uses a cache leaves a file there that names its root, and an
image's or container's record below a root names what it needs. Whoever adds an image holds the
cache shared from its first blob to its record; the collector wants it alone and, when it cannot
have it, does nothing: there will be a next time.
"""

import asyncio
import fcntl
import hashlib
import json
import logging
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

log = logging.getLogger(__name__)

_POLL: Final = 0.1


def register(cache: Path, root: Path) -> None:
    """Have the images and containers below a runtime's root counted from now on."""
    name = hashlib.sha256(str(root).encode()).hexdigest()[:16]
    place = cache / "roots" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(str(root))


@contextmanager
def _gate(cache: Path) -> Iterator[int]:
    cache.mkdir(parents=True, exist_ok=True)
    fd = os.open(cache / "images.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


def _hold(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@asynccontextmanager
async def adding(cache: Path) -> AsyncIterator[None]:
    """Keep what arrives in the cache until its image is on record."""
    with _gate(cache) as fd:
        while not _hold(fd, fcntl.LOCK_SH):  # noqa: ASYNC110 -- other processes hold it
            await asyncio.sleep(_POLL)
        yield


def collect(cache: Path, *, unused_since: float) -> int:
    """Remove what nobody needs and nobody has added since that time; how many things went."""
    try:
        with _gate(cache) as fd:
            if not _hold(fd, fcntl.LOCK_EX):
                return 0
            needed = _needed(cache)
            things = [path for path in _things(cache) if path.name not in needed]
            gone = [path for path in things if path.lstat().st_mtime <= unused_since]
            for path in gone:
                _remove(path)
    except (OSError, ValueError, KeyError) as error:
        # A record that cannot be read may need anything.
        log.warning("nothing collected", extra={"error": str(error)})
        return 0
    if gone:
        log.info("unused image files removed", extra={"count": len(gone)})
    return len(gone)


def _things(cache: Path) -> Iterator[Path]:
    """Blobs and layers, also those whose maker was killed; locks stay, somebody may wait there."""
    yield from (cache / "blobs").glob("*")
    yield from (path for path in (cache / "layers").glob("*/*") if path.suffix != ".lock")


def _needed(cache: Path) -> set[str]:
    """Names of blobs and layer folders that some record asks for."""
    needed: set[str] = set()
    for place in (cache / "roots").glob("*"):
        root = Path(place.read_text())
        if not root.is_dir():
            place.unlink()
            continue
        for record in (root / "images").glob("*.json"):
            data = _load(record)
            needed |= {name.removeprefix("sha256:") for name in (*data["blobs"], *data["layers"])}
        for record in (root / "containers").glob("*/state.json"):
            needed |= {Path(layer).name for layer in _load(record)["layers"]}
    return needed


def _load(record: Path) -> Any:
    return json.loads(record.read_text())


def _remove(path: Path) -> None:
    if path.is_dir():
        # Out of its place first: half a layer must never be taken for a whole one.
        gone = path.with_name(f"{path.name}.gone")
        shutil.rmtree(gone, ignore_errors=True)
        path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
