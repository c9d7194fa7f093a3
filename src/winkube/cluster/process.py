"""Processes that outlive the command that started them, known by pid and start time.

A pid alone may be reused after a crash; together with the kernel's start time it names one process
for ever, so adopting or ending a process by record is safe.
"""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from winkube.cluster.state import write_private


@dataclass(frozen=True, slots=True)
class ProcessId:
    pid: int
    started: int  # clock ticks since boot (field 22 of /proc/<pid>/stat)

    @classmethod
    def of(cls, pid: int) -> "ProcessId | None":
        """The process now behind this pid; a zombie counts as gone."""
        try:
            # The command name may hold spaces and parentheses: fields count from the last ")".
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else cls(pid, int(fields[19]))

    @property
    def alive(self) -> bool:
        return ProcessId.of(self.pid) == self

    def send(self, number: signal.Signals) -> None:
        if self.alive:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return


def save_record(path: Path, process: ProcessId) -> None:
    # No process outlives a crash of the machine, so its record need not either.
    write_private(path, f"{process.pid} {process.started}\n".encode(), durable=False)


def load_record(path: Path) -> ProcessId | None:
    """The recorded process if it still lives."""
    try:
        pid, started = map(int, path.read_text().split())
    except (FileNotFoundError, ValueError):
        return None
    process = ProcessId(pid, started)
    return process if process.alive else None


def end(processes: list[ProcessId], *, grace: float) -> None:
    """Ask these processes to stop, wait, then make them."""
    for process in processes:
        process.send(signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and any(process.alive for process in processes):
        time.sleep(0.01)
    for process in processes:
        process.send(signal.SIGKILL)
    while any(process.alive for process in processes):
        time.sleep(0.005)
