"""The images of the tests for Windows nodes, made of programs built for Windows.

Only what is built from source here is in them: ``agnhost``, and the shell tools of busybox if a
``busybox.exe`` stands beside it. The rest is the emulated base that every Windows image gets.
"""

from pathlib import Path
from typing import Any, Final

from tests.conformance.images import REGISTRY
from tests.conformance.layers import Entry, Image, make_layer, write_archive

_APPLETS: Final = frozenset(
    {"ash", "bash", "cat", "chmod", "cp", "cut", "date", "dd", "df", "du", "echo", "env", "false"}
    | {"find", "grep", "head", "id", "kill", "ls", "md5sum", "mkdir", "mktemp", "mv", "printf"}
    | {"ps", "pwd", "rm", "rmdir", "sed", "seq", "sh", "sleep", "sort", "stat", "tail", "tar"}
    | {"tee", "test", "timeout", "touch", "tr", "true", "uname", "uniq", "wc", "wget", "which"}
    | {"xargs", "yes"}
)
_PATH: Final = "PATH=C:\\bin;C:\\Windows\\System32;C:\\Windows;"


def make_windows_archive(path: Path, programs: Path, names: list[str], build: str) -> list[str]:
    """Write the named images for one build of Windows; say which were made."""
    maker = _Maker(programs, build)
    images = [image for name in names if (image := maker.image(name)) is not None]
    write_archive(path, images)
    return [image.name for image in images]


class _Maker:
    def __init__(self, programs: Path, build: str) -> None:
        agnhost = Entry(programs / "agnhost.exe", mode=0o755)
        self._build = build
        self._agnhost = make_layer(
            {
                "Files/agnhost": agnhost,
                "Files/agnhost-2": agnhost,
                "Files/localhost.crt": Entry(programs / "localhost.crt"),
                "Files/localhost.key": Entry(programs / "localhost.key"),
                "Files/uploads": Entry(mode=0o777),
                "Files/tmp": Entry(mode=0o777),
            }
        )
        busybox = programs / "busybox.exe"
        self._tools = []
        if busybox.exists():
            tools = {f"Files/bin/{name}.exe": Entry(busybox, mode=0o755) for name in _APPLETS}
            self._tools = [
                make_layer(tools | {"Files/bin/busybox.exe": Entry(busybox, mode=0o755)})
            ]

    def image(self, name: str) -> Image | None:
        if not name.startswith(REGISTRY):
            return None
        match name.rpartition("/")[2].partition(":")[0]:
            case "agnhost":
                return self._made(name, Entrypoint=["/agnhost"], Cmd=["pause"])
            case "pause":
                return self._made(name, Entrypoint=["/agnhost", "pause"])
            case "nautilus" | "kitten" as kind:
                data = b'{\n  "image": "%s.jpg"\n}\n' % kind.encode()
                layer = make_layer({"Files/data.json": Entry(data)})
                return self._made(name, layer, Entrypoint=["/agnhost"], Cmd=["test-webserver"])
            case "httpd":
                # It serves the root folder.
                page = make_layer({"Files/index.html": Entry(b"It works!")})
                return self._made(name, page, Entrypoint=["/agnhost", "test-webserver"])
            case "busybox":
                return self._made(name, Entrypoint=["cmd.exe", "/s", "/c"])
            case "nonroot":
                user = "ContainerUser"
                return self._made(name, Entrypoint=["cmd.exe", "/s", "/c"], User=user)
        return None

    def _made(self, name: str, *more: bytes, **config: Any) -> Image:
        layers = (self._agnhost, *self._tools, *more)
        return Image(name, layers, {"Env": [_PATH], **config}, "windows", self._build)
