"""Named network namespaces, laid out as iproute2 does: a bind mount per name below /run/netns.

A namespace lives as long as its mount or any process in it; deleting the name of one that is in use
takes the name away and leaves the processes their network.
"""

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from winkube.aio.command import CommandError
from winkube.linux import syscalls
from winkube.linux.command import run

NETNS_DIR: Final = Path("/run/netns")
_OWN: Final = Path("/proc/self/ns/net")
Result = TypeVar("Result")


def netns_path(name: str) -> Path:
    return NETNS_DIR / name


def netns_exists(name: str) -> bool:
    """Whether the name is bound to a namespace (a plain file left by a crash does not count)."""
    try:
        return netns_path(name).stat().st_dev == _OWN.stat().st_dev
    except FileNotFoundError:
        return False


def create_netns(name: str) -> Path:
    """Ensure the namespace, with its loopback up."""
    path = netns_path(name)
    if not netns_exists(name):
        # A crash between creating the mount point and mounting leaves a file that blocks the name.
        path.unlink(missing_ok=True)
        try:
            run(["ip", "netns", "add", name])
        except CommandError:
            if not netns_exists(name):  # else another process was faster
                raise
    run(["ip", "-n", name, "link", "set", "lo", "up"])
    return path


def delete_netns(name: str) -> None:
    """Take the name away; an absent one is not an error."""
    path = netns_path(name)
    with contextlib.suppress(OSError):
        syscalls.umount(str(path), flags=syscalls.MNT_DETACH)
    path.unlink(missing_ok=True)


def list_netns(prefix: str = "") -> list[str]:
    """The names that begin with the prefix, sorted."""
    try:
        return sorted(path.name for path in NETNS_DIR.iterdir() if path.name.startswith(prefix))
    except FileNotFoundError:
        return []


def enter_netns(path: Path) -> None:
    """Move the calling thread, and the processes it starts from now on, into the namespace."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscalls.setns(fd, syscalls.CLONE_NEWNET, str(path))
    finally:
        os.close(fd)


def call_in_netns(path: Path, call: Callable[[], Result]) -> Result:
    """Run ``call`` in a thread of its own inside the namespace.

    The calling thread never changes place, so nothing has to be undone when ``call`` fails.
    """
    results: list[Result] = []
    failures: list[BaseException] = []

    def body() -> None:
        try:
            enter_netns(path)
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
            failures.append(error)

    thread = threading.Thread(target=body, name=f"netns-{path.name}")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]
