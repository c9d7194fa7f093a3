"""A container's files: the overlay of base, personality, image and writable layer, and /etc."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from winkube.linux import mount
from winkube.machines.personality import find_personality
from winkube.machines.wine.base import WineBase
from winkube.machines.wine.layer import ensure_layer
from winkube.machines.wine.recipe import CONTAINER_UID, DRIVE_C, PREFIX
from winkube.runtime import drive
from winkube.runtime.config import RuntimeConfig
from winkube.runtime.errors import InvalidArgumentError
from winkube.runtime.launch import IO_FOLDER
from winkube.runtime.spec import Bind
from winkube.runtime.state import Container, Sandbox

_IO_OPTIONS: Final = f"mode=0700,size=16m,nr_inodes=4k,uid={CONTAINER_UID},gid={CONTAINER_UID}"
_HOSTS: Final = ("windows", "system32", "drivers", "etc", "hosts")


@dataclass(frozen=True, slots=True)
class Bundle:
    """The folder of one container below the run folder."""

    folder: Path

    @property
    def rootfs(self) -> Path:
        return self.folder / "rootfs"

    @property
    def io(self) -> Path:
        return self.folder / "io"

    @property
    def etc(self) -> Path:
        return self.folder / "etc"


class RootfsMaker:
    def __init__(self, config: RuntimeConfig, base: WineBase, tools: Path) -> None:
        self._config = config
        self._base = base
        self._tools = tools

    def bundle(self, container_id: str) -> Bundle:
        return Bundle(self._config.bundles / container_id)

    def lower_layers(self, container: Container) -> list[Path]:
        """Topmost first, as the kernel wants them."""
        personality = find_personality(container.personality)
        layers = [Path(layer) for layer in reversed(container.layers)]
        return [
            *layers,
            self._tools,
            ensure_layer(self._base, personality, self._config.cache),
            self._base.rootfs,
        ]

    def mount(self, container: Container) -> Bundle:
        bundle = self.bundle(container.id)
        writable = self._config.containers / container.id
        for folder in (bundle.io, bundle.etc, writable / "upper", writable / "work"):
            folder.mkdir(parents=True, exist_ok=True)
        (writable / "upper").chmod(0o755)
        # The container writes there: what it can fill is its own small memory, not the host's.
        mount.mount_tmpfs(bundle.io, options=_IO_OPTIONS)
        mount.mount_overlay(
            bundle.rootfs,
            lower=self.lower_layers(container),
            upper=writable / "upper",
            work=writable / "work",
        )
        return bundle

    def unmount(self, container_id: str) -> None:
        bundle = self.bundle(container_id)
        for point in mount.list_mounts(bundle.folder):
            mount.umount(point)

    def remove(self, container_id: str) -> None:
        """Take away the files of a container, mounted or not."""
        self.unmount(container_id)
        for folder in (self.bundle(container_id).folder, self._config.containers / container_id):
            shutil.rmtree(folder, ignore_errors=True)

    def plan_binds(self, container: Container, sandbox: Sandbox, bundle: Bundle) -> list[Bind]:
        """The pod's volumes and the small files of /etc; places that are missing are made."""
        binds = [Bind(str(bundle.io), IO_FOLDER)]
        hosts = write_etc(bundle.etc, container.user, sandbox.config)
        for item in container.config.mounts:
            names = drive.parse_windows_path(item.container_path)
            source = self._host_path(item.host_path)
            if not names:
                raise InvalidArgumentError("a volume cannot take the place of C:\\")
            if tuple(name.lower() for name in names) == _HOSTS:
                # Wine asks the Linux resolver, which has a hosts file of its own.
                hosts = source
            point = drive.ensure_point(
                bundle.rootfs / DRIVE_C, names, is_folder=source.is_dir(), uid=CONTAINER_UID
            )
            target = "/" + str(point.relative_to(bundle.rootfs))
            binds.append(Bind(str(source), target, item.readonly))
        binds += [
            Bind(str(hosts), "/etc/hosts", read_only=True),
            Bind(str(bundle.etc / "passwd"), "/etc/passwd", read_only=True),
            Bind(str(bundle.etc / "resolv.conf"), "/etc/resolv.conf", read_only=True),
        ]
        return binds

    def _host_path(self, text: str) -> Path:
        """A path of the emulated host; one with a drive letter is on its C:."""
        if not drive.is_windows_path(text):
            path = Path(text)
        else:
            path = drive.resolve(self._config.c_drive, drive.parse_windows_path(text))
        if not path.exists():
            raise InvalidArgumentError(
                f'failed to generate spec: failed to stat "{text}": '
                "The system cannot find the file specified."
            )
        return path


def to_resolv_conf(servers: Sequence[str], searches: Sequence[str]) -> str:
    """Windows' rules: one suffix only, and only for names without a dot."""
    lines = [f"nameserver {server}" for server in servers]
    lines += [f"search {searches[0]}"] if searches else []
    # The Linux resolver would ask for a name with a dot as it is first, which is Windows' order.
    lines += ["options ndots:1 timeout:2 attempts:2"]
    return "".join(f"{line}\n" for line in lines)


def write_etc(folder: Path, user: str, sandbox_config: Any) -> Path:
    """Write this container's passwd, hosts and resolv.conf; return the hosts file."""
    dns = sandbox_config.dns_config
    passwd = f"{user}:x:{CONTAINER_UID}:{CONTAINER_UID}::/{PREFIX}:/usr/sbin/nologin\n"
    files = {
        "passwd": f"root:x:0:0:root:/root:/usr/sbin/nologin\n{passwd}",
        "hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "resolv.conf": to_resolv_conf(list(dns.servers), list(dns.searches)),
    }
    for name, content in files.items():
        (folder / name).write_text(content)
        (folder / name).chmod(0o644)
    return folder / "hosts"
