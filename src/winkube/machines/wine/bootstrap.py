"""The Debian part of the base: a root folder with Wine, made by mmdebstrap."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from winkube.machines.wine.apt import find_mirror, proxy_environment
from winkube.machines.wine.errors import BaseBuildError
from winkube.machines.wine.recipe import Recipe

Progress = Callable[[str, float], None]

# What mmdebstrap says when a step begins, and how far the base is by then.
_STEPS: Final = (
    ("running apt-get update", "reading the package lists", 0.02),
    ("downloading packages", "downloading packages", 0.08),
    ("extracting archives", "unpacking the system", 0.35),
    ("installing essential", "installing the system", 0.40),
    ("installing remaining", "installing Wine", 0.50),
    ("cleaning package lists", "cleaning up", 0.85),
)


def plan_command(recipe: Recipe, target: Path, mirror: str | None) -> list[str]:
    command = [
        "mmdebstrap",
        "--mode=root",
        "--variant=minbase",
        "--include=" + ",".join(recipe.packages),
        '--aptopt=APT::Install-Recommends "false"',
        '--aptopt=Acquire::Retries "3"',
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in recipe.exclude),
        recipe.suite,
        str(target),
    ]
    return [*command, mirror] if mirror else command


def step_of(line: str) -> tuple[str, float] | None:
    return next(((text, part) for mark, text, part in _STEPS if mark in line), None)


def bootstrap(recipe: Recipe, target: Path, *, lock_fd: int, progress: Progress) -> None:
    """Fill ``target``; the child holds the lock too, so a build that outlives us is waited for."""
    command = plan_command(recipe, target, find_mirror())
    said: list[str] = []
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=proxy_environment(),
            pass_fds=(lock_fd,),
        )
    except FileNotFoundError:
        raise BaseBuildError(
            "starting", "mmdebstrap is not installed", "run: apt-get install mmdebstrap"
        ) from None
    with child:
        for line in child.stderr or ():
            said.append(line.strip())
            step = step_of(line)
            if step is not None:
                progress(*step)
    if child.returncode != 0:
        text = " ".join([line for line in said if not line.startswith("I:")][-6:])
        hint = ""
        if "NO_PUBKEY" in text or "not signed" in text:
            hint = "the archive's keys are missing; run: apt-get install debian-archive-keyring"
        raise BaseBuildError("installing Debian packages", text or "mmdebstrap failed", hint)
