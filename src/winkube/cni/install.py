"""Put the plugins on a Windows node: programs that start Python with as little as possible."""

import sys
from pathlib import Path
from typing import Final

import winkube

PLUGINS: Final = {
    "win-bridge": "win_bridge",
    "sdnbridge": "sdn_bridge",
    "host-local": "host_local",
}
# No site packages, no environment, no user folder: half the start-up time of an interpreter.
_FLAGS: Final = "-SEI"
_SHEBANG_LIMIT: Final = 250


def to_program(module: str, *, folder: Path, hns_socket: Path) -> str:
    source = Path(winkube.__file__).parent.parent
    body = f"""\
import os
import sys

sys.path.insert(0, {str(source)!r})
os.environ["WINKUBE_CNI_BIN"] = {str(folder)!r}
os.environ["WINKUBE_HNS_SOCKET"] = {str(hns_socket)!r}
from winkube.cni.{module} import main

sys.exit(main())
"""
    line = f"#!{sys.executable} {_FLAGS}\n"
    if " " in sys.executable or len(line) > _SHEBANG_LIMIT:
        # The kernel splits this line at blanks; a shell does not have to.
        line = f"#!/bin/sh\n''''exec '{sys.executable}' {_FLAGS} \"$0\" \"$@\"\n'''\n"
    return line + body


def install_plugins(bin_dir: Path, *, hns_socket: Path) -> None:
    """Write the programs; what is there already is replaced in one step."""
    folder = bin_dir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in PLUGINS.items():
        draft = folder / f".{name}.new"
        draft.write_text(to_program(module, folder=folder, hns_socket=hns_socket))
        draft.chmod(0o755)
        draft.replace(folder / name)
