"""Build the Wine base once per machine, and find it again.

Theory of operation: ``wine-<digest>`` in the cache is complete whenever it exists, because it comes
into being by one rename. Work happens in ``wine-<digest>.part`` under an exclusive file lock; a
build that was killed leaves the part folder, and the next call continues with the finished steps
and removes the rest.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from winkube.linux.mount import umount_all
from winkube.machines.wine.bootstrap import Progress, bootstrap
from winkube.machines.wine.errors import BaseBuildError, BaseMissingError
from winkube.machines.wine.lock import locked
from winkube.machines.wine.prefix import boot_prefix, share_builtins, trim_prefix
from winkube.machines.wine.recipe import PREFIX, Recipe


@dataclass(frozen=True, slots=True)
class WineBase:
    """A finished base: ``rootfs`` is the lowest layer of every Windows container."""

    folder: Path
    digest: str

    @property
    def rootfs(self) -> Path:
        return self.folder / "rootfs"

    @property
    def prefix(self) -> Path:
        return self.rootfs / PREFIX


def is_built(cache: Path) -> bool:
    return Recipe().folder(cache).is_dir()


def open_base(cache: Path) -> WineBase:
    recipe = Recipe()
    if not recipe.folder(cache).is_dir():
        raise BaseMissingError(recipe.folder(cache))
    return WineBase(recipe.folder(cache), recipe.digest)


def measure(base: WineBase) -> int:
    """How many bytes the base's files have; counted once and then remembered beside them."""
    note = base.folder / "size"
    try:
        return int(note.read_text())
    except (FileNotFoundError, ValueError):
        sizes: dict[int, int] = {}
        for root, _, files in os.walk(base.rootfs):
            for name in files:
                facts = os.lstat(os.path.join(root, name))  # noqa: PTH118 -- many thousand files
                sizes[facts.st_ino] = facts.st_size
        size = sum(sizes.values())
        part = note.with_name(f"size.{os.getpid()}.part")
        part.write_text(str(size))
        part.replace(note)
        return size


def ensure_base(cache: Path, progress: Progress) -> WineBase:
    """Build what is missing; ``progress`` gets a step's name and the part that is done (0 to 1)."""
    recipe = Recipe()
    if is_built(cache):
        return open_base(cache)
    if os.geteuid() != 0:
        raise BaseBuildError("starting", "only root can do this")
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / f"wine-{recipe.digest}.lock") as lock_fd:
        if not is_built(cache):
            _build(recipe, cache, lock_fd, progress)
    progress("ready", 1.0)
    return open_base(cache)


def _build(recipe: Recipe, cache: Path, lock_fd: int, progress: Progress) -> None:
    final = recipe.folder(cache)
    part = final.with_name(final.name + ".part")
    rootfs, unfinished = part / "rootfs", part / "rootfs.tmp"
    part.mkdir(exist_ok=True)
    umount_all(part)
    shutil.rmtree(unfinished, ignore_errors=True)
    if not rootfs.is_dir():
        progress("preparing", 0.0)
        unfinished.mkdir()
        bootstrap(recipe, unfinished, lock_fd=lock_fd, progress=progress)
        unfinished.rename(rootfs)
    progress("making the Windows drive", 0.88)
    boot_prefix(rootfs, recipe)
    trim_prefix(rootfs, recipe)
    progress("sharing files", 0.97)
    share_builtins(rootfs)
    part.rename(final)
