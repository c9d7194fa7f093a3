"""Personality layers: the registry of one Windows version, as a small layer above the base.

The layer depends on the base and the personality only, so it is made once and shared by every
container; like the base it appears by one rename.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from winkube.machines.personality import Personality
from winkube.machines.wine import registry
from winkube.machines.wine.base import WineBase
from winkube.machines.wine.recipe import CONTAINER_UID, PREFIX

_VERSION_KEYS: Final = (
    "Software\\Microsoft\\Windows NT\\CurrentVersion",
    "Software\\Wow6432Node\\Microsoft\\Windows NT\\CurrentVersion",
)
_EDITION: Final = 1  # raise it when the values below change


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
        "System\\ControlSet001\\Control\\ProductOptions": {
            "ProductType": registry.text("ServerNT"),
        },
    }


def ensure_layer(base: WineBase, personality: Personality, cache: Path) -> Path:
    """The layer's folder; made when it is not there yet."""
    name = f"{personality.key}-{personality.revision}-{_EDITION}"
    final = cache / "personalities" / base.digest / name
    if final.is_dir():
        return final
    final.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=final.parent))
    part.chmod(0o755)
    prefix = part / PREFIX
    prefix.mkdir()
    content = registry.edit(
        registry.load_registry(base.prefix / "system.reg"), plan_changes(personality)
    )
    registry.save_registry(prefix / "system.reg", content)
    for path in (prefix, prefix / "system.reg"):
        os.chown(path, CONTAINER_UID, CONTAINER_UID)
    try:
        part.rename(final)
    except OSError:  # another process was faster
        shutil.rmtree(part)
    return final
