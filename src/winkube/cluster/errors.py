"""What can go wrong while assembling a cluster.

ClusterError
├── SpecError           a cluster file or flag is wrong; names the field
├── PreflightError      this machine lacks something; names the command that fixes it
├── NoSuchClusterError
├── ChangedError        the cluster is there, and not as it is asked for now
├── BusyError           another command works on the same cluster
└── StartError          a component did not become ready; names its log
"""

from collections.abc import Sequence
from pathlib import Path

from winkube.base.errors import WinkubeError


class ClusterError(WinkubeError):
    pass


class SpecError(ClusterError):
    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field, self.problem = field, problem


class PreflightError(ClusterError):
    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(
            "this machine is not ready for a cluster:\n" + "\n".join(f"  - {p}" for p in problems)
        )
        self.problems = tuple(problems)


class NoSuchClusterError(ClusterError):
    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no cluster {name!r}: see 'winkube ls', or start it with 'winkube up'"
        )


class ChangedError(ClusterError):
    def __init__(self, name: str, made: str) -> None:
        super().__init__(
            f"cluster {name!r} exists already, with {made}, and not as you ask for it now: "
            f"'winkube down --name {name}' first, or choose another --name"
        )


class BusyError(ClusterError):
    def __init__(self, name: str, pid: int, action: str) -> None:
        super().__init__(
            f"cluster {name!r} is being changed by 'winkube {action}' (process {pid}): wait for it"
        )
        self.pid, self.action = pid, action


class StartError(ClusterError):
    def __init__(self, what: str, seconds: float, log: Path | None = None) -> None:
        hint = f"; look into {log}" if log else ""
        super().__init__(f"{what} was not ready after {seconds:.0f} s{hint}")
