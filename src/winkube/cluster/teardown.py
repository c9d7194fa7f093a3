"""Taking a cluster down.

It needs nothing but the cluster's name: it ends every process of the cluster's control group and
removes what lies in its folders. It loads little, since the command does nothing else.
"""

import contextlib
import os
import shutil
from pathlib import Path
from typing import Final

from winkube.base.paths import Home
from winkube.cluster.errors import BusyError, NoSuchClusterError
from winkube.cluster.process import ProcessId, end, load_record
from winkube.cluster.state import CONTROL_PLANE, exclusive, load_state
from winkube.cluster.supervisor import GUARD, SUPERVISOR, record_path
from winkube.linux import cgroup, mount
from winkube.machines import underlay

_STOP_SECONDS: Final = 10.0


def down(home: Home, name: str) -> None:
    """Remove everything of this cluster, whatever state it is in."""
    _interrupt(home, name)
    with exclusive(home, name, "down"):
        paths = home.cluster(name)
        _stop_supervisor(paths.run / "pids")
        _end_group(f"/winkube/{name}")
        for folder in (paths.run, paths.state):
            mount.umount_all(folder)
        underlay.delete_underlay(name, _known_nodes(home, name))
        cgroup.remove(f"/winkube/{name}")
        for root in cgroup.hierarchies().roots:
            with contextlib.suppress(OSError):  # another cluster is still in there
                (root / "winkube").rmdir()
        for folder in (paths.run, paths.state):
            shutil.rmtree(folder, ignore_errors=False, onerror=_retry_unmounted)
    (home.clusters / f"{name}.lock").unlink(missing_ok=True)


def exists(home: Home, name: str) -> bool:
    paths = home.cluster(name)
    return paths.state.exists() or paths.run.exists() or cgroup.exists(f"/winkube/{name}")


def _known_nodes(home: Home, name: str) -> list[str]:
    with contextlib.suppress(NoSuchClusterError):
        return [CONTROL_PLANE, *(node.name for node in load_state(home, name).spec.nodes)]
    return []


def _interrupt(home: Home, name: str) -> None:
    """Who takes a cluster down does not want it to come up: end an ``up`` that is under way."""
    try:
        with exclusive(home, name, "down"):
            return
    except BusyError as busy:
        holder = ProcessId.of(busy.pid) if busy.action == "up" else None
        if holder is None:
            raise
        end([holder], grace=2.0)


def _stop_supervisor(records: Path) -> None:
    """End the supervisor, which ends its components, the guard among them, before it goes."""
    watched = [record_path(records, name) for name in (SUPERVISOR, GUARD)]
    while left := [process for process in map(load_record, watched) if process]:
        # A guard without a supervisor is about to start one: whoever comes first is ended first.
        end(left[:1], grace=_STOP_SECONDS)


def _end_group(path: str) -> None:
    processes = [found for pid in cgroup.pids(path) if (found := ProcessId.of(pid)) is not None]
    own = os.getpid()
    end([process for process in processes if process.pid != own], grace=0.0)
    cgroup.kill_all(path)


def _retry_unmounted(call: object, path: str, error: object) -> None:
    """A mount that appeared late: detach it and go on; what is gone already is fine."""
    if not Path(path).exists():
        return
    mount.umount_all(Path(path))
    if Path(path).is_dir():
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)
