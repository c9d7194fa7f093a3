"""The frame of every plugin: environment and standard input in, JSON on standard output out.

Rules and error codes follow containernetworking/cni ``pkg/skel`` and the specification.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from winkube.base.errors import WinkubeError
from winkube.wire import cni
from winkube.wire.cni import CniError, Json

_NEEDS = {
    "ADD": ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"),
    "CHECK": ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"),
    "DEL": ("CNI_CONTAINERID", "CNI_IFNAME", "CNI_PATH"),
    "STATUS": ("CNI_PATH",),
    "GC": ("CNI_PATH",),
    "VERSION": (),
}
_SINCE = {"CHECK": "0.4.0", "GC": "1.1.0", "STATUS": "1.1.0"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
_MAX_IFNAME = 15


class Call:
    """One invocation: the environment's part and the configuration."""

    def __init__(self, environ: Mapping[str, str], conf: Json) -> None:
        self.environ, self.conf = environ, conf
        self.container_id = environ.get("CNI_CONTAINERID", "")
        self.netns = environ.get("CNI_NETNS", "")
        self.ifname = environ.get("CNI_IFNAME", "")
        pairs = (part.partition("=") for part in environ.get("CNI_ARGS", "").split(";") if part)
        self.args = {key: value for key, _, value in pairs}


Verb = Callable[[Call], "Json | None"]


def run(verbs: Mapping[str, Verb], environ: Mapping[str, str], stdin: str) -> tuple[int, str]:
    """Carry out one invocation: the exit code and what to print."""
    version = cni.CURRENT
    try:
        command = environ.get("CNI_COMMAND", "")
        _check_environment(command, environ)
        if command == "VERSION":
            return 0, json.dumps({"cniVersion": version, "supportedVersions": list(cni.VERSIONS)})
        conf = _parse_conf(stdin)
        version = conf["cniVersion"]
        _check_version(command, version)
        if command not in verbs:  # legal by the specification, just not offered here
            raise CniError(cni.INVALID_ENVIRONMENT, f"unknown CNI_COMMAND: {command}")
        result = verbs[command](Call(environ, conf))
    except CniError as error:
        return 1, json.dumps(cni.to_error(error, version))
    except (WinkubeError, OSError) as error:
        return 1, json.dumps(cni.to_error(CniError(cni.GENERIC, str(error)), version))
    return 0, "" if result is None else json.dumps(cni.to_result(result, version))


def main(verbs: Mapping[str, Verb]) -> int:
    stdin = "" if os.environ.get("CNI_COMMAND") == "VERSION" else sys.stdin.read()
    code, text = run(verbs, os.environ, stdin)
    if text:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    return code


def _check_environment(command: str, environ: Mapping[str, str]) -> None:
    if not command:
        raise _environment("required env variables [CNI_COMMAND] missing")
    if command not in _NEEDS:
        raise _environment(f"unknown CNI_COMMAND: {command}")
    missing = [name for name in _NEEDS[command] if not environ.get(name)]
    if missing:
        raise _environment(f"required env variables [{','.join(missing)}] missing")
    container_id, ifname = environ.get("CNI_CONTAINERID", ""), environ.get("CNI_IFNAME", "")
    if container_id and not _NAME.fullmatch(container_id):
        raise CniError(cni.INVALID_ENVIRONMENT, "invalid characters in containerID", container_id)
    bad = len(ifname) > _MAX_IFNAME or ifname in (".", "..") or re.search(r"[/:\s]", ifname)
    if ifname and bad:
        raise CniError(cni.INVALID_ENVIRONMENT, "interface name is invalid", ifname)


def _environment(message: str) -> CniError:
    return CniError(cni.INVALID_ENVIRONMENT, message)


def _parse_conf(stdin: str) -> Json:
    try:
        document: Any = json.loads(stdin)
    except ValueError as error:
        message = "error unmarshall network config"
        raise CniError(cni.DECODING_FAILURE, message, str(error)) from None
    conf = cni.fold(
        document,
        (
            "cniVersion",
            "name",
            "type",
            "ipam",
            "dns",
            "runtimeConfig",
            "capabilities",
            "prevResult",
            "args",
        ),
    )
    conf["cniVersion"] = conf.get("cniVersion") or "0.1.0"
    name = conf.get("name")
    if not name:
        raise CniError(cni.INVALID_CONFIG, "missing network name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise CniError(cni.INVALID_CONFIG, "invalid characters found in network name", str(name))
    return conf


def _check_version(command: str, version: str) -> None:
    if version not in cni.VERSIONS:
        details = f'config is "{version}", plugin supports {json.dumps(list(cni.VERSIONS))}'
        raise CniError(cni.INCOMPATIBLE_VERSION, "incompatible CNI versions", details)
    floor = _SINCE.get(command)
    if floor and not cni.is_at_least(version, floor):
        raise CniError(
            cni.INCOMPATIBLE_VERSION, f"config version does not allow {command}", version
        )
