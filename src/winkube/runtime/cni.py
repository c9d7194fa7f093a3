"""Call CNI plugins: find the configuration, run the executables, read their answers.

Follows the CNI specification 1.0: a list runs in order for ADD, each plugin seeing the result of
the one before, and in reverse order for DEL.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.runtime.errors import RuntimeServiceError

_SUFFIXES: Final = (".conf", ".conflist", ".json")
_SECONDS: Final = 120


class CniError(RuntimeServiceError):
    """A plugin or its configuration failed."""


class CniNotReadyError(CniError):
    def __init__(self, detail: str) -> None:
        super().__init__(f"cni plugin not initialized: {detail}")


@dataclass(frozen=True, slots=True)
class NetworkList:
    name: str
    version: str
    plugins: tuple[JsonObject, ...]

    def to_json(self) -> str:
        return json.dumps(
            {"name": self.name, "cniVersion": self.version, "plugins": list(self.plugins)}
        )


@dataclass(frozen=True, slots=True)
class Attachment:
    """Who is connected: on Windows the "netns" of CNI is the id of an HNS namespace."""

    container_id: str
    netns: str
    interface: str = "Ethernet"
    args: Mapping[str, str] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)


def parse_network(text: str) -> NetworkList:
    data = json.loads(text)
    if not isinstance(data, dict) or not data.get("name"):
        raise CniError("the CNI configuration has no name")
    version = str(data.get("cniVersion", "0.2.0"))
    plugins = data.get("plugins", [data])
    if not isinstance(plugins, list) or not plugins:
        raise CniError(f"the CNI network {data['name']} has no plugins")
    for plugin in plugins:
        kind = plugin.get("type") if isinstance(plugin, dict) else None
        if not isinstance(kind, str) or not kind or "/" in kind:
            raise CniError(f"the CNI network {data['name']} has a plugin without a type")
    return NetworkList(str(data["name"]), version, tuple(plugins))


def load_network(folder: Path) -> NetworkList:
    """The first configuration by name that can be read, as every runtime chooses."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES)
    except FileNotFoundError:
        paths = []
    problems = []
    for path in paths:
        try:
            return parse_network(path.read_text())
        except (OSError, ValueError, CniError) as error:
            problems.append(f"{path.name}: {error}")
    raise CniNotReadyError("; ".join(problems) or f"no network config found in {folder}")


def plan_input(
    network: NetworkList, plugin: JsonObject, attachment: Attachment, previous: JsonObject | None
) -> JsonObject:
    """What a plugin reads: its own part of the list, and the capabilities it declares."""
    declared = plugin.get("capabilities") or {}
    data = {key: value for key, value in plugin.items() if key != "capabilities"}
    data |= {"name": network.name, "cniVersion": network.version}
    wanted = {
        name: attachment.capabilities[name]
        for name, on in declared.items()
        if on and name in attachment.capabilities
    }
    if wanted:
        data["runtimeConfig"] = wanted
    if previous is not None:
        data["prevResult"] = previous
    return data


def addresses_of(result: JsonObject) -> list[str]:
    """The pod's addresses without their prefix lengths, from a result of any version."""
    found = [item.get("address", "") for item in result.get("ips") or []]
    found += [(result.get(key) or {}).get("ip", "") for key in ("ip4", "ip6")]
    return [text.partition("/")[0] for text in found if text]


class Cni:
    def __init__(self, bin_dir: Path) -> None:
        self._bin_dir = bin_dir

    def check(self, network: NetworkList) -> None:
        """Whether every plugin of the network is installed."""
        for plugin in network.plugins:
            if not os.access(self._bin_dir / plugin["type"], os.X_OK):
                raise CniNotReadyError(f"plugin {plugin['type']} is not in {self._bin_dir}")

    async def add(self, network: NetworkList, attachment: Attachment) -> JsonObject:
        result: JsonObject | None = None
        for plugin in network.plugins:
            data = plan_input(network, plugin, attachment, result)
            result = await self._call("ADD", plugin["type"], data, attachment)
        return result or {}

    async def delete(self, network: NetworkList, attachment: Attachment) -> None:
        for plugin in reversed(network.plugins):
            data = plan_input(network, plugin, attachment, None)
            await self._call("DEL", plugin["type"], data, attachment)

    async def _call(
        self, command: str, kind: str, data: JsonObject, attachment: Attachment
    ) -> JsonObject:
        env = {
            "PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": attachment.container_id,
            "CNI_NETNS": attachment.netns,
            "CNI_IFNAME": attachment.interface,
            "CNI_ARGS": ";".join(f"{key}={value}" for key, value in attachment.args.items()),
            "CNI_PATH": str(self._bin_dir),
        }
        try:
            process = await asyncio.create_subprocess_exec(
                str(self._bin_dir / kind),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
            )
        except OSError as error:
            raise CniError(f"failed to find plugin {kind!r} in path [{self._bin_dir}]") from error
        try:
            async with asyncio.timeout(_SECONDS):
                out, err = await process.communicate(json.dumps(data).encode())
        except BaseException:
            if process.returncode is None:
                process.kill()
                await process.wait()
            raise
        return _parse_answer(command, kind, process.returncode or 0, (out, err))


def _parse_answer(command: str, kind: str, code: int, streams: tuple[bytes, bytes]) -> JsonObject:
    out, err = streams
    try:
        answer = json.loads(out) if out.strip() else {}
    except ValueError:
        answer = None
    if code == 0 and isinstance(answer, dict):
        return answer
    words = err.decode(errors="replace").strip()[-500:] or f"exit code {code}"
    if isinstance(answer, dict) and answer.get("msg"):
        details = answer.get("details")
        words = answer["msg"] + (f"; {details}" if details else "")
    raise CniError(f'plugin type="{kind}" failed ({command.lower()}): {words}')
