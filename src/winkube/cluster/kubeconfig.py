"""kubeconfig files: the admin's own document, merged into and taken out of the user's."""

import base64
from pathlib import Path
from typing import Any

import yaml

from winkube.base.types import JsonObject
from winkube.cluster.errors import ClusterError
from winkube.cluster.state import ClusterState, write_private

_LISTS = ("clusters", "users", "contexts")


class KubeconfigError(ClusterError):
    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{path} is not a kubeconfig ({problem}): repair it, or set KUBECONFIG to another file"
        )


def admin_kubeconfig(state: ClusterState) -> JsonObject:
    from winkube.cluster import pki  # not for taking a context out

    admin = pki.pair(state, "admin")
    name = state.spec.context
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": f"https://127.0.0.1:{state.api_port}",
                    "certificate-authority-data": _encoded(pki.ca_file(state)),
                },
            }
        ],
        "users": [
            {
                "name": name,
                "user": {
                    "client-certificate-data": _encoded(admin.cert),
                    "client-key-data": _encoded(admin.key),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def merge_into(path: Path, addition: JsonObject) -> None:
    """Add or replace the entries of ``addition`` and make its context the current one."""
    merged = _load(path)
    for section in _LISTS:
        added = addition[section]
        names = {entry["name"] for entry in added}
        merged[section] = [
            e for e in merged.get(section) or [] if e.get("name") not in names
        ] + added
    merged["current-context"] = addition["current-context"]
    _save(path, merged)


def remove_from(path: Path, name: str) -> None:
    """Take a context, its cluster and its user out; a file without them is left as it is."""
    if not path.exists():
        return
    document = _load(path)
    before = sum(len(document.get(section) or []) for section in _LISTS)
    for section in _LISTS:
        document[section] = [e for e in document.get(section) or [] if e.get("name") != name]
    if document.get("current-context") == name:
        document["current-context"] = ""
    if sum(len(document[section]) for section in _LISTS) != before:
        _save(path, document)


def _load(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"apiVersion": "v1", "kind": "Config"}
    try:
        document = yaml.safe_load(path.read_text()) or {"apiVersion": "v1", "kind": "Config"}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise KubeconfigError(path, str(error).splitlines()[0]) from error
    if not isinstance(document, dict):
        raise KubeconfigError(path, "no mapping at the top")
    return document


def _save(path: Path, document: dict[str, Any]) -> None:
    # A kubeconfig is often a link into a synchronised folder: replace what it points to.
    write_private(path.resolve(), yaml.safe_dump(document, sort_keys=False).encode())


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
