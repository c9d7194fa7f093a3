"""What the Wine base is made of; its digest names the base, so a changed recipe is a new base."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

# Every Windows user of a container is this one unprivileged user of the host: Wine refuses a prefix
# that belongs to somebody else, and giving files away per container would copy all of them.
CONTAINER_UID: Final = 655360
PREFIX: Final = "wine"  # below the root of the container
DRIVE_C: Final = f"{PREFIX}/drive_c"
WINE_BINARY: Final = "/usr/lib/wine/wine64"
WINESERVER_BINARY: Final = "/usr/lib/wine/wineserver64"
BUILTINS: Final = "usr/lib/x86_64-linux-gnu/wine/x86_64-windows"
UNIX_LIBRARIES: Final = "usr/lib/x86_64-linux-gnu/wine/x86_64-unix"
USERS: Final = ("ContainerAdministrator", "ContainerUser")


@dataclass(frozen=True, slots=True)
class Recipe:
    suite: str = "trixie"
    # tini is the first process: Windows processes are orphans of one another and need a reaper.
    packages: tuple[str, ...] = ("wine64", "tini")
    exclude: tuple[str, ...] = (
        "/usr/share/doc/*",
        "/usr/share/man/*",
        "/usr/share/info/*",
        "/usr/share/locale/*",
    )
    # Programs see drives and network through these; every other service waits to be asked for.
    auto_services: tuple[str, ...] = ("mountmgr", "nsiproxy")
    uid: int = CONTAINER_UID
    edition: int = 1  # raise it when the steps of the build change

    @property
    def digest(self) -> str:
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def folder(self, cache: Path) -> Path:
        return cache / f"wine-{self.digest}"
