"""Delegation to an IPAM plugin: found on CNI_PATH and run, or called here when it is our own.

A Python process costs more than the whole rest of an ADD; our own host-local, installed beside the
calling plugin, therefore runs in the same process.
"""

import json
import os
from typing import Any

from winkube.cni import host_local
from winkube.cni.skel import Call
from winkube.wire import cni
from winkube.wire.cni import CniError, Json

OWN_FOLDER = "WINKUBE_CNI_BIN"  # set by the installed programs


def delegate(call: Call, command: str) -> Json | None:
    """Run the configured IPAM plugin's verb; its result in the 1.0.0 form."""
    name = str(cni.fold(call.conf["ipam"], ("type",))["type"])
    path = _find(name, call)
    own = call.environ.get(OWN_FOLDER)
    if name == "host-local" and own and path == f"{own}/{name}":
        return host_local.VERBS[command](call)
    return _execute(path, call, command)


def _find(name: str, call: Call) -> str:
    folders = [part for part in call.environ.get("CNI_PATH", "").split(os.pathsep) if part]
    if "/" not in name:
        for folder in folders:
            path = f"{folder}/{name}"
            if os.access(path, os.X_OK):
                return path
    raise CniError(cni.GENERIC, f'failed to find plugin "{name}" in path {json.dumps(folders)}')


def _execute(path: str, call: Call, command: str) -> Json | None:
    import subprocess

    environ = {**call.environ, "CNI_COMMAND": command}
    done = subprocess.run(
        [path],
        input=json.dumps(call.conf),
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        answer: Any = json.loads(done.stdout) if done.stdout.strip() else None
    except ValueError:
        message = f"netplugin failed: {(done.stderr or done.stdout).strip()[:500]}"
        raise CniError(cni.GENERIC, message) from None
    if done.returncode != 0:
        raise cni.parse_error(answer or {"msg": f"netplugin failed: {done.stderr.strip()[:500]}"})
    return None if answer is None else cni.from_result(answer)
