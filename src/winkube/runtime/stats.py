"""Numbers about containers, pods and images, from control groups, /proc and the file system."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from winkube.base.clock import Clock
from winkube.linux import cgroup
from winkube.runtime.config import RuntimeConfig
from winkube.runtime.lifecycle import Lifecycle
from winkube.runtime.state import Container, ContainerState, Sandbox
from winkube.wire import cri

# Sizes on disk are this old at most; figures of CPU and memory are always fresh.
_SIZE_SECONDS: Final = 10.0


def folder_size(folder: Path) -> tuple[int, int]:
    """Bytes on disk and number of entries below the folder; what vanishes meanwhile is left out."""
    size = count = 0
    pending = [str(folder)]
    while pending:
        for entry in _scan(pending.pop()):
            try:
                info = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            size += info.st_blocks * 512
            count += 1
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
    return size, count


def _scan(folder: str) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return


def parse_net_dev(text: str) -> dict[str, tuple[int, int, int, int]]:
    """Received and sent bytes and errors by interface (rx, rx errors, tx, tx errors)."""
    found = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        numbers = [int(word) for word in rest.split()]
        if len(numbers) >= 16 and name.strip() != "lo":
            found[name.strip()] = (numbers[0], numbers[2], numbers[8], numbers[10])
    return found


class Stats:
    def __init__(self, config: RuntimeConfig, lifecycle: Lifecycle, clock: Clock) -> None:
        self._config = config
        self._lifecycle = lifecycle
        self._clock = clock
        # The last CPU reading of each group, for the rate between two calls.
        self._last: dict[str, tuple[float, int, int]] = {}
        # What each container has written, and when that was counted: a walk over many files.
        self._written: dict[str, tuple[float, tuple[int, int]]] = {}

    def _now(self) -> int:
        return int(self._clock.now() * 1e9)

    def _cpu(self, group: str) -> tuple[int, int]:
        """CPU time so far, and the rate since the last reading (both in nano-cores)."""
        now, usage = self._clock.monotonic(), cgroup.cpu_usage_ns(group)
        before = self._last.get(group)
        if before is not None and now - before[0] < 1.0:
            return usage, before[2]
        rate = 0
        if before is not None and usage >= before[1]:
            rate = int((usage - before[1]) / (now - before[0]))
        self._last[group] = (now, usage, rate)
        return usage, rate

    def _size(self, container_id: str) -> tuple[int, int]:
        now, known = self._clock.monotonic(), self._written.get(container_id)
        if known is not None and now - known[0] < _SIZE_SECONDS:
            return known[1]
        size = folder_size(self._config.containers / container_id / "upper")
        self._written[container_id] = (now, size)
        return size

    def keep_only(self, ids: Collection[str]) -> None:
        """Forget what was counted of containers and sandboxes that are gone."""
        for gone in self._written.keys() - set(ids):
            del self._written[gone]
        for group in [group for group in self._last if group.rpartition("/")[2] not in ids]:
            del self._last[group]

    def container(self, container: Container) -> Any:
        """A container's stats in the common form, which the kubelet reads on every system."""
        now, group = self._now(), self._lifecycle.cgroup_of(container)
        running = container.state is ContainerState.RUNNING
        usage, rate = self._cpu(group) if running else (0, 0)
        memory = cgroup.memory_working_set(group) if running else 0
        size, inodes = self._size(container.id)
        value = _value
        return cri.ContainerStats(
            attributes=_attributes(container),
            cpu=cri.CpuUsage(
                timestamp=now, usage_core_nano_seconds=value(usage), usage_nano_cores=value(rate)
            ),
            memory=cri.MemoryUsage(
                timestamp=now,
                working_set_bytes=value(memory),
                usage_bytes=value(cgroup.memory_usage(group) if running else 0),
            ),
            writable_layer=cri.FilesystemUsage(
                timestamp=now,
                fs_id=cri.FilesystemIdentifier(mountpoint=str(self._config.containers)),
                used_bytes=value(size),
                inodes_used=value(inodes),
            ),
        )

    def sandbox(self, sandbox: Sandbox, containers: list[Container]) -> Any:
        now, group = self._now(), f"{self._config.cgroup_parent}/{sandbox.id}"
        usage, rate = self._cpu(group)
        config, value = sandbox.config, _value
        running = [c for c in containers if c.state is ContainerState.RUNNING]
        return cri.PodSandboxStats(
            attributes=cri.PodSandboxAttributes(
                id=sandbox.id,
                metadata=config.metadata,
                labels=dict(config.labels),
                annotations=dict(config.annotations),
            ),
            windows=cri.WindowsPodSandboxStats(
                cpu=cri.WindowsCpuUsage(
                    timestamp=now,
                    usage_core_nano_seconds=value(usage),
                    usage_nano_cores=value(rate),
                ),
                memory=cri.WindowsMemoryUsage(
                    timestamp=now,
                    working_set_bytes=value(cgroup.memory_working_set(group)),
                    commit_memory_bytes=value(cgroup.memory_usage(group)),
                ),
                network=self._network(running, now),
                process=cri.WindowsProcessUsage(
                    timestamp=now, process_count=value(len(cgroup.pids(group)))
                ),
                containers=[to_windows(self.container(item)) for item in running],
            ),
        )

    def _network(self, running: list[Container], now: int) -> Any:
        """The pod's interfaces, read through any of its processes."""
        interfaces = []
        for container in running[:1]:
            try:
                text = Path(f"/proc/{container.pid}/net/dev").read_text()
            except OSError:
                continue
            interfaces = [
                cri.WindowsNetworkInterfaceUsage(
                    name=name,
                    rx_bytes=_value(rx),
                    rx_packets_dropped=_value(rx_errors),
                    tx_bytes=_value(tx),
                    tx_packets_dropped=_value(tx_errors),
                )
                for name, (rx, rx_errors, tx, tx_errors) in parse_net_dev(text).items()
            ]
        first = interfaces[0] if interfaces else None
        return cri.WindowsNetworkUsage(
            timestamp=now, default_interface=first, interfaces=interfaces[1:]
        )

    def filesystems(self, image_bytes: int) -> Any:
        now = self._now()

        def usage(folder: Path, size: int) -> Any:
            return cri.FilesystemUsage(
                timestamp=now,
                fs_id=cri.FilesystemIdentifier(mountpoint=str(folder)),
                used_bytes=_value(size),
                inodes_used=_value(0),
            )

        written, _ = folder_size(self._config.containers)
        return cri.ImageFsInfoResponse(
            image_filesystems=[usage(self._config.cache, image_bytes)],
            container_filesystems=[usage(self._config.containers, written)],
        )


def _value(number: int) -> Any:
    return cri.UInt64Value(value=max(0, number))


def _attributes(container: Container) -> Any:
    config = container.config
    return cri.ContainerAttributes(
        id=container.id,
        metadata=config.metadata,
        labels=dict(config.labels),
        annotations=dict(config.annotations),
    )


def to_windows(stats: Any) -> Any:
    """The same numbers in the form of a Windows pod's stats."""
    return cri.WindowsContainerStats(
        attributes=stats.attributes,
        cpu=cri.WindowsCpuUsage(
            timestamp=stats.cpu.timestamp,
            usage_core_nano_seconds=stats.cpu.usage_core_nano_seconds,
            usage_nano_cores=stats.cpu.usage_nano_cores,
        ),
        memory=cri.WindowsMemoryUsage(
            timestamp=stats.memory.timestamp,
            working_set_bytes=stats.memory.working_set_bytes,
            commit_memory_bytes=stats.memory.usage_bytes,
        ),
        writable_layer=cri.WindowsFilesystemUsage(
            timestamp=stats.writable_layer.timestamp,
            fs_id=stats.writable_layer.fs_id,
            used_bytes=stats.writable_layer.used_bytes,
        ),
    )
