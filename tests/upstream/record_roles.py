"""Ask upstream's API server for the roles every cluster has, and keep them as our own data.

``python -m tests.upstream.record_roles`` writes src/winkube/apiserver/auth/default_roles.json.
"""

import json
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from tests.upstream.exchange import Conversation, conversation

from winkube.testing.planes import api_server

Json = Any
FILE: Final = (
    Path(__file__).parents[2] / "src" / "winkube" / "apiserver" / "auth" / "default_roles.json"
)
KINDS: Final = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
_KEPT: Final = ("name", "namespace", "labels", "annotations")


def read_roles(talk: Conversation) -> dict[str, list[Json]]:
    """The roles of a server, without what no two have in common."""
    found = {}
    for kind in KINDS:
        path = f"/apis/rbac.authorization.k8s.io/v1/{kind}"
        items = talk.ask("GET", path).body["items"]
        found[kind] = [_plain(item) for item in sorted(items, key=_place)]
    return found


def await_roles(talk: Conversation) -> dict[str, list[Json]]:
    """Upstream makes them after it is ready: wait until no more come."""
    deadline = time.monotonic() + 60
    before: dict[str, list[Json]] = {}
    while time.monotonic() < deadline:
        found = read_roles(talk)
        if found == before and all(found.values()):
            return found
        before = found
        time.sleep(1)
    raise AssertionError("the roles do not settle")


def _place(item: Json) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _plain(item: Json) -> Json:
    metadata = {key: item["metadata"][key] for key in _KEPT if key in item["metadata"]}
    others = {key: value for key, value in item.items() if key != "metadata" and value is not None}
    return {"metadata": metadata, **others}


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        api_server("upstream", Path(folder)) as plane,
        conversation(plane.client) as talk,
    ):
        roles = await_roles(talk)
    lines = [
        f'"{kind}": [\n' + ",\n".join(json.dumps(item, sort_keys=True) for item in items) + "\n]"
        for kind, items in roles.items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
