"""What the runtime knows of its pods and containers, on disk: a JSON file each, replaced whole.

The file is written before the step it announces, so that after kill -9 the next process knows at
least as much as there is to clean up.
"""

import base64
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, TypeVar

from winkube.wire import cri


class SandboxState(StrEnum):
    READY = "ready"
    NOT_READY = "not-ready"


class ContainerState(StrEnum):
    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"


def pack(message: Any) -> str:
    return base64.b64encode(message.SerializeToString()).decode()


@dataclass(slots=True)
class Sandbox:
    id: str
    config_data: str
    created_at: int
    handler: str = ""
    state: SandboxState = SandboxState.READY
    netns: str = ""
    namespace_id: str = ""
    ips: list[str] = field(default_factory=list)

    @property
    def config(self) -> Any:
        return cri.PodSandboxConfig.FromString(base64.b64decode(self.config_data))


@dataclass(slots=True)
class Container:
    id: str
    sandbox_id: str
    config_data: str
    image_id: str
    image_ref: str
    personality: str
    user: str
    command: str
    created_at: int
    layers: list[str] = field(default_factory=list)
    state: ContainerState = ContainerState.CREATED
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    pid: int = 0
    monitor_pid: int = 0
    resources: dict[str, int] = field(default_factory=dict)

    @property
    def config(self) -> Any:
        return cri.ContainerConfig.FromString(base64.b64decode(self.config_data))


Record = TypeVar("Record", Sandbox, Container)


class Records(Generic[Record]):
    """All records of one kind, in memory and below one folder."""

    def __init__(self, folder: Path, kind: type[Record]) -> None:
        self._folder = folder
        self._kind: type[Record] = kind
        self._records: dict[str, Record] = {}

    def __iter__(self) -> Iterator[Record]:
        return iter(list(self._records.values()))

    def load(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        known = {item.name for item in fields(self._kind)}
        for path in self._folder.glob("*/state.json"):
            try:
                data = json.loads(path.read_text())
                record = self._kind(**{key: data[key] for key in data if key in known})
            except (ValueError, TypeError):
                continue  # never written whole: nothing was started for it
            _restore_state(record)
            self._records[record.id] = record

    def folder(self, record_id: str) -> Path:
        return self._folder / record_id

    def find(self, id_or_prefix: str) -> Record | None:
        """A record by its id or by an unambiguous beginning of it, as crictl allows."""
        record = self._records.get(id_or_prefix)
        if record is not None or not id_or_prefix:
            return record
        matches = [r for key, r in self._records.items() if key.startswith(id_or_prefix)]
        return matches[0] if len(matches) == 1 else None

    def save(self, record: Record) -> None:
        folder = self._folder / record.id
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / "state.json.part"
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w") as file:
            json.dump(asdict(record), file)
        part.rename(folder / "state.json")
        self._records[record.id] = record

    def drop(self, record_id: str) -> None:
        """Forget the record; its file goes first, so what is left of the folder is rubbish."""
        (self._folder / record_id / "state.json").unlink(missing_ok=True)
        self._records.pop(record_id, None)


def _restore_state(record: Sandbox | Container) -> None:
    """JSON gave a plain string back."""
    if isinstance(record, Sandbox):
        record.state = SandboxState(record.state)
    else:
        record.state = ContainerState(record.state)
