"""Which addresses are taken: a file per address below ``<dataDir>/<network>``, under one lock.

The layout is that of containernetworking/plugins' host-local, so that either program can take over
from the other.
"""

import fcntl
import os
from types import TracebackType

_BREAK = "\r\n"
DEFAULT_DIR = "/var/lib/cni/networks"


class Reservations:
    """Use as a context manager: the lock is held inside."""

    def __init__(self, data_dir: str, network: str) -> None:
        self._folder = f"{data_dir or DEFAULT_DIR}/{network}"
        self._lock = -1

    def __enter__(self) -> "Reservations":
        os.makedirs(self._folder, mode=0o755, exist_ok=True)  # noqa: PTH103 - pathlib is slow to load
        self._lock = os.open(f"{self._folder}/lock", os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._lock)

    def reserve(self, address: str, container_id: str, ifname: str, set_index: int) -> bool:
        """Take the address; False when somebody has it."""
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        try:
            fd = os.open(self._path(address), flags, 0o600)
        except FileExistsError:
            return False
        os.write(fd, _owner(container_id, ifname))
        os.close(fd)
        # A separate file, so that releasing an address does not move the cursor back.
        self._write(f"last_reserved_ip.{set_index}", address)
        return True

    def last_reserved(self, set_index: int) -> str:
        return self._read(f"{self._folder}/last_reserved_ip.{set_index}").decode()

    def of(self, container_id: str, ifname: str) -> list[str]:
        """Addresses this interface holds."""
        owner = _owner(container_id, ifname)
        return [
            name.replace("_", ":")
            for name in sorted(os.listdir(self._folder))  # noqa: PTH208
            if name[0].isdigit() or "_" in name
            if not name.startswith("last_reserved_ip")
            if self._read(f"{self._folder}/{name}").strip() == owner.strip()
        ]

    def release(self, container_id: str, ifname: str) -> None:
        for address in self.of(container_id, ifname):
            self.free(address)

    def free(self, address: str) -> None:
        os.unlink(self._path(address))  # noqa: PTH108

    def _path(self, address: str) -> str:
        return f"{self._folder}/{address.replace(':', '_')}"

    def _write(self, name: str, text: str) -> None:
        draft = f"{self._folder}/.{name}"
        with open(draft, "w") as file:  # noqa: PTH123
            file.write(text)
        os.replace(draft, f"{self._folder}/{name}")  # noqa: PTH105

    def _read(self, path: str) -> bytes:
        try:
            with open(path, "rb") as file:  # noqa: PTH123
                return file.read()
        except FileNotFoundError:
            return b""


def _owner(container_id: str, ifname: str) -> bytes:
    return f"{container_id}{_BREAK}{ifname}".encode()
