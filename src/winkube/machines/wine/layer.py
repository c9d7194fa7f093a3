"""Personality layers: registry and words of one Windows version, as a small layer above the base.

The layer depends on the base and the personality only, so it is made once and shared by every
container; like the base it appears by one rename.
"""

import logging
import os
import shutil
from pathlib import Path
from typing import Final

from winkube.machines.personality import Personality
from winkube.machines.wine import registry
from winkube.machines.wine.base import WineBase
from winkube.machines.wine.errors import ModuleError
from winkube.machines.wine.lock import locked
from winkube.machines.wine.recipe import (
    BUILTINS,
    CONTAINER_UID,
    DRIVE_C,
    PREFIX,
)
from winkube.machines.wine.words import (
    Modules,
    plan_constants,
    plan_datagrams,
    plan_prefixes,
    plan_version,
)

log = logging.getLogger(__name__)

_VERSION_KEYS: Final = (
    "Software\\Microsoft\\Windows NT\\CurrentVersion",
    "Software\\Wow6432Node\\Microsoft\\Windows NT\\CurrentVersion",
)
_EDITION: Final = 15  # raise it when the values below change


def plan_changes(personality: Personality) -> registry.Changes:
    """The registry values by which programs tell which Windows this is."""
    version: dict[str, str | None] = {
        "CurrentBuild": registry.text(str(personality.build)),
        "CurrentBuildNumber": registry.text(str(personality.build)),
        "CurrentMajorVersionNumber": registry.dword(10),
        "CurrentMinorVersionNumber": registry.dword(0),
        "CurrentVersion": registry.text("6.3"),
        "DisplayVersion": registry.text(personality.release_id),
        "EditionID": registry.text("ServerDatacenter"),
        "InstallationType": registry.text("Server Core"),
        "ProductName": registry.text(personality.product_name),
        "ReleaseId": registry.text(personality.release_id),
        "UBR": registry.dword(personality.revision),
    }
    return {
        **dict.fromkeys(_VERSION_KEYS, version),
        "System\\ControlSet001\\Control\\Session Manager\\Environment": {
            "Path": _expandable(
                "%SystemRoot%\\system32;%SystemRoot%;%SystemRoot%\\System32\\Wbem;"
                "%SYSTEMROOT%\\System32\\WindowsPowerShell\\v1.0\\;"
                "%SYSTEMROOT%\\System32\\OpenSSH\\"
            ),
            "PATHEXT": registry.text(".COM;.EXE;.BAT;.CMD;.VBS;.VBE;.JS;.JSE;.WSF;.WSH;.MSC"),
            "DriverData": registry.text("C:\\Windows\\System32\\Drivers\\DriverData"),
            "winsysdir": None,
        },
        "System\\ControlSet001\\Control\\ProductOptions": {
            "ProductType": registry.text("ServerNT"),
        },
        # Wine would start it with every container, for start menus that nobody sees.
        "Software\\Microsoft\\Windows\\CurrentVersion\\RunServices": {"winemenubuilder": None},
    }


# Programs of ours that take the place of Wine's: without a word Wine prefers its own.
_OWN_PROGRAMS: Final = ("hostname.exe", "ipconfig.exe", "ping.exe", "whoami.exe")


def plan_user_changes() -> registry.Changes:
    native = dict.fromkeys(_OWN_PROGRAMS, registry.text("native"))
    return {"Software\\Wine\\DllOverrides": native}


def _expandable(value: str) -> str:
    return f"str(2):{registry.text(value)}"


def ensure_layer(base: WineBase, personality: Personality, cache: Path) -> Path:
    """The layer's folder; made when it is not there yet."""
    name = f"{personality.key}-{personality.revision}-{_EDITION}"
    final = cache / "personalities" / base.digest / name
    if final.is_dir():
        return final
    with locked(final.with_name(f"{name}.lock")):
        if not final.is_dir():
            _build(base, personality, final)
    return final


def _build(base: WineBase, personality: Personality, final: Path) -> None:
    part = final.with_name(f"{final.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    prefix = part / PREFIX
    prefix.mkdir(parents=True)
    part.chmod(0o755)
    for name, changes in (
        ("system.reg", plan_changes(personality)),
        ("user.reg", plan_user_changes()),
    ):
        content = registry.edit(registry.load_registry(base.prefix / name), changes)
        registry.save_registry(prefix / name, content)
        os.chown(prefix / name, CONTAINER_UID, CONTAINER_UID)
    os.chown(prefix, CONTAINER_UID, CONTAINER_UID)
    plans = (plan_version(personality), plan_constants(), plan_prefixes(), plan_datagrams())
    for modules in plans:
        _add_modules(base, part, modules)
    part.rename(final)


def _add_modules(base: WineBase, part: Path, modules: Modules) -> None:
    """Put changed files where Wine loads them from: all of them, or none when one does not fit."""
    try:
        images = {
            path: change((base.rootfs / path).read_bytes()) for path, change in modules.items()
        }
    except (ModuleError, FileNotFoundError) as error:
        log.warning("Wine's own words stay", extra={"error": str(error)})
        return
    for path, image in images.items():
        _add_file(part / path, image, part, uid=0)
        if path.startswith(BUILTINS):
            twin = part / DRIVE_C / "windows" / "system32" / Path(path).name
            _add_file(twin, image, part, uid=CONTAINER_UID)


def _add_file(path: Path, image: bytes, part: Path, *, uid: int) -> None:
    """Write a file of the layer; its folders look as they do in the base."""
    missing = [folder for folder in path.parents if folder != part and part in folder.parents]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        os.chown(folder, uid, uid)
    path.write_bytes(image)
    path.chmod(0o755)
    os.chown(path, uid, uid)
