"""The template prefix: a fresh Windows drive and registry, made by Wine itself and then trimmed.

Everything here happens once, inside the base's own root folder and as the containers' user, so that
a container can use the result as the lowest layer of its overlay without touching a file.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from winkube.machines.wine import registry
from winkube.machines.wine.errors import BaseBuildError
from winkube.machines.wine.recipe import (
    BUILTINS,
    DRIVE_C,
    PREFIX,
    USERS,
    WINE_BINARY,
    WINESERVER_BINARY,
    Recipe,
)

_SERVICES: Final = "System\\ControlSet001\\Services\\"
_BOOT_SECONDS: Final = 300
_SCRIPT: Final = f"{WINE_BINARY} wineboot -i && {WINESERVER_BINARY} -w"
_START: Final = f"{registry.text('Start')}=dword:"
_ON_DEMAND: Final = f"{_START}00000003"


def wine_environment(user: str) -> dict[str, str]:
    """What Wine itself needs; the same for the template and for every container."""
    return {
        "HOME": f"/{PREFIX}",
        "USER": user,
        "WINEPREFIX": f"/{PREFIX}",
        "WINEARCH": "win64",
        "WINEDEBUG": "-all",
        "PATH": "/usr/lib/wine:/usr/bin:/bin",
    }


def _bundle_config(rootfs: Path, recipe: Recipe) -> dict[str, Any]:
    env = wine_environment(USERS[0]) | {"WINEDLLOVERRIDES": "mscoree,mshtml=;winemenubuilder.exe=d"}
    private = ["nosuid", "nodev", "mode=1777"]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": recipe.uid, "gid": recipe.uid},
            "args": ["/bin/sh", "-c", _SCRIPT],
            "env": [f"{key}={value}" for key, value in env.items()],
            "cwd": "/",
            "noNewPrivileges": True,
        },
        "root": {"path": str(rootfs)},
        "hostname": "template",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": private},
        ],
        "linux": {
            "cgroupsPath": f"/winkube-{recipe.digest}",
            "namespaces": [{"type": kind} for kind in ("mount", "pid", "network", "ipc", "uts")],
        },
    }


def _runc(*args: str, timeout: float) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["runc", *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
        check=False,
    )


def boot_prefix(rootfs: Path, recipe: Recipe) -> None:
    """Let Wine make its prefix, with no network and no privileges."""
    prefix = rootfs / PREFIX
    shutil.rmtree(prefix, ignore_errors=True)
    prefix.mkdir()
    os.chown(prefix, recipe.uid, recipe.uid)
    name = f"winkube-{recipe.digest}"
    with tempfile.TemporaryDirectory(prefix="winkube-base-") as folder:
        bundle = Path(folder)
        state = str(bundle / "state")
        config = _bundle_config(rootfs, recipe)
        (bundle / "config.json").write_text(json.dumps(config))
        try:
            done = _runc("--root", state, "run", "--bundle", folder, name, timeout=_BOOT_SECONDS)
        except (subprocess.TimeoutExpired, FileNotFoundError) as error:
            raise BaseBuildError("making the Windows drive", str(error)) from error
        finally:
            _runc("--root", state, "delete", "--force", name, timeout=30)
    if done.returncode != 0 or not (prefix / "system.reg").exists():
        words = done.stdout.decode(errors="replace").strip()[-500:]
        raise BaseBuildError("making the Windows drive", words or f"code {done.returncode}")


def trim_services(content: str, keep: tuple[str, ...]) -> str:
    """Every service waits until it is asked for, except those to keep."""
    kept = {name.lower() for name in keep}

    def trim(key: str, section: str) -> str:
        service = key.removeprefix(_SERVICES)
        if not key.startswith(_SERVICES) or "\\" in service or service.lower() in kept:
            return section
        lines = section.split("\n")
        return "\n".join(_ON_DEMAND if line.startswith(_START) else line for line in lines)

    return registry.map_sections(content, trim)


def trim_prefix(rootfs: Path, recipe: Recipe) -> None:
    """Make the fresh prefix fit for containers: quick to start, and blind to what is below it."""
    prefix = rootfs / PREFIX
    system = prefix / "system.reg"
    registry.save_registry(
        system, trim_services(registry.load_registry(system), recipe.auto_services)
    )
    user = prefix / "user.reg"
    changes: registry.Changes = {
        # No display is wanted, and looking for one takes time.
        "Software\\Wine\\Drivers": {"Graphics": registry.text("null")},
        "Software\\Wine": {"Version": None},
        "Software\\Wine\\WineDbg": {"ShowCrashDialog": registry.dword(0)},
    }
    registry.save_registry(user, registry.edit(registry.load_registry(user), changes))
    # Wine updates a prefix that is older than its own files unless it is told not to.
    (prefix / ".update-timestamp").write_text("disable\n")
    for drive in (prefix / "dosdevices").iterdir():
        if drive.name != "c:":
            drive.unlink()
    for leftover in (".config", ".local", ".cache", "wineserver"):
        _remove(prefix / leftover)
    _add_users(rootfs, recipe)
    _own_files(prefix, recipe.uid)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _add_users(rootfs: Path, recipe: Recipe) -> None:
    users = rootfs / DRIVE_C / "users"
    first, *others = USERS
    for name in others:
        shutil.copytree(users / first, users / name, symlinks=True, dirs_exist_ok=True)
    for folder in ("Fonts", "inf"):
        (rootfs / DRIVE_C / "windows" / folder).mkdir(exist_ok=True)
    passwd = rootfs / "etc" / "passwd"
    line = f"{first}:x:{recipe.uid}:{recipe.uid}::/{PREFIX}:/usr/sbin/nologin\n"
    if line not in passwd.read_text():
        with passwd.open("a") as file:
            file.write(line)


def _own_files(folder: Path, uid: int) -> None:
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(root) / name, uid, uid, follow_symlinks=False)


def share_builtins(rootfs: Path) -> int:
    """Make the drive's copies of Wine's own modules hard links to them; say how many bytes less."""
    saved = 0
    for copy in (rootfs / DRIVE_C / "windows").rglob("*"):
        original = rootfs / BUILTINS / copy.name
        if copy.is_symlink() or not copy.is_file() or not original.is_file():
            continue
        if original.samefile(copy) or original.stat().st_size != copy.stat().st_size:
            continue
        if original.read_bytes() == copy.read_bytes():
            saved += copy.stat().st_size
            # The copy stays and the original becomes the link: the drive keeps its owner.
            original.unlink()
            os.link(copy, original)
    return saved
