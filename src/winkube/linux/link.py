"""Links, addresses and routes through iproute2: batches in, JSON out.

One ``ip -batch`` costs about 2 ms whatever it holds, where importing a netlink library alone takes
180 ms; that is why pods' network cards are made this way.
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from winkube.aio.command import CommandError
from winkube.linux.command import run
from winkube.linux.netns import call_in_netns, netns_path

Row = dict[str, Any]


def _ip(netns: str | None, *words: str) -> list[str]:
    return ["ip", *(("-n", netns) if netns else ()), *words]


def batch(commands: Sequence[str], *, netns: str | None = None, force: bool = False) -> None:
    """Run ip commands in order; stop at the first that fails unless forced past failures."""
    if not commands:
        return
    if any("\n" in command for command in commands):
        # A name or address with a line of its own would be a command of its own.
        raise ValueError("an ip command has to be one line")
    text = "\n".join(commands) + "\n"
    with contextlib.suppress(*((CommandError,) if force else ())):
        run(_ip(netns, *(("-force",) if force else ()), "-batch", "-"), stdin=text)


def query(*words: str, netns: str | None = None) -> list[Row]:
    """Rows of an ``ip -json`` listing."""
    text = run(_ip(netns, "-json", *words))
    rows: list[Row] = json.loads(text) if text.strip() else []
    return [row for row in rows if row]


def links(netns: str | None = None) -> dict[str, Row]:
    """Every link by name, with kind and alias details."""
    return {row["ifname"]: row for row in query("-details", "link", "show", netns=netns)}


def addresses(netns: str | None = None) -> dict[str, list[str]]:
    """IPv4 addresses with prefix length, by link name."""
    return {
        row["ifname"]: [f"{a['local']}/{a['prefixlen']}" for a in row.get("addr_info", [])]
        for row in query("-4", "address", "show", netns=netns)
    }


def routes(netns: str | None = None) -> list[Row]:
    """IPv4 routes of the main table."""
    return query("-4", "route", "show", netns=netns)


def _write_sysctls(values: Mapping[str, str | int]) -> None:
    for name, value in values.items():
        path = Path("/proc/sys") / name.replace(".", "/")
        # A knob of a module that is not loaded (bridge netfilter) has nothing to switch off.
        if path.exists():
            path.write_text(f"{value}\n")


def set_sysctls(values: Mapping[str, str | int], *, netns: str | None = None) -> None:
    """Write network knobs, by dotted name, as seen inside the namespace."""
    if netns is None:
        _write_sysctls(values)
    else:
        call_in_netns(netns_path(netns), lambda: _write_sysctls(values))
