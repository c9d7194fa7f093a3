"""The status of a quota is the same whoever serves it and whoever counts: ours, upstream's, mixed.

What is expected was read from upstream's own programs.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.upstream.exchange import MERGE, Conversation, conversation

from winkube.testing.planes import Make, api_server, controllers, upstream_folder

_CORE = "/api/v1/namespaces/t"
_GOLD = "gold.storageclass.storage.k8s.io/requests.storage"
_HARD = {
    "pods": "10",
    "cpu": "4",
    "requests.memory": "4Gi",
    "limits.cpu": "9",
    "count/pods": "20",
    "configmaps": "5",
    "services.nodeports": "5",
    "count/deployments.apps": "3",
    "requests.storage": "10Gi",
    _GOLD: "5Gi",
    "count/nosuch.example.com": "3",
    "requests.example.com/gpu": "3",
    "hugepages-2Mi": "4Mi",
}
_NOTHING = {
    "count/deployments.apps": "0",
    "hugepages-2Mi": "0",
    "requests.example.com/gpu": "0",
    "configmaps": "1",
}
_FIRST = _NOTHING | {
    "pods": "1",
    "cpu": "500m",
    "requests.memory": "64Mi",
    "limits.cpu": "1",
    "count/pods": "1",
    "services.nodeports": "0",
    "requests.storage": "0",
    _GOLD: "0",
}
_CHARGED = _NOTHING | {
    "pods": "3",
    "cpu": "1750m",
    "requests.memory": "192Mi",
    "limits.cpu": "3",
    "count/pods": "3",
    "services.nodeports": "1",
    "requests.storage": "1Gi",
    _GOLD: "1Gi",
}
_FREED = _FIRST | {"count/pods": "2", "requests.storage": "1Gi", _GOLD: "1Gi"}


def pod(name: str, cpu: str) -> dict[str, Any]:
    resources = {
        "requests": {"cpu": cpu, "memory": "64Mi"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    }
    container = {"name": "c", "image": "i", "resources": resources}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


def until(found: Callable[[], Any], wanted: Any, seconds: float = 40) -> None:
    deadline = time.monotonic() + seconds
    while (last := found()) != wanted:
        assert time.monotonic() < deadline, f"{last} is not {wanted}"
        time.sleep(0.1)


def create(talk: Conversation, plural: str, obj: dict[str, Any]) -> None:
    made = talk.ask("POST", f"{_CORE}/{plural}", obj)
    assert made.status == 201, made.body


@pytest.mark.parametrize(
    ("server", "counter"),
    [
        ("winkube", "winkube"),
        ("winkube", "upstream"),
        ("upstream", "winkube"),
        ("upstream", "upstream"),
    ],
)
def test_a_quota_is_counted_alike(server: Make, counter: Make, tmp_path: Path) -> None:
    if "upstream" in (server, counter) and upstream_folder() is None:
        pytest.skip("not built (`make upstream`)")
    with (
        api_server(server, tmp_path) as plane,
        controllers(counter, plane),
        conversation(plane.client) as talk,
    ):
        talk.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "t"}})
        for made in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            until(lambda path=made: talk.ask("GET", f"{_CORE}/{path}").status, 200)  # type: ignore[misc]

        def used() -> Any:
            return (talk.ask("GET", f"{_CORE}/resourcequotas/q").body.get("status") or {}).get(
                "used"
            )

        create(talk, "pods", pod("early", "0.5"))
        create(talk, "resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": _HARD}})
        until(used, _FIRST)
        create(talk, "pods", pod("a", "250m"))
        create(talk, "pods", pod("b", "1"))
        service = {"type": "NodePort", "ports": [{"port": 80}]}
        create(talk, "services", {"metadata": {"name": "s"}, "spec": service})
        claim = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "gold",
            "resources": {"requests": {"storage": "1Gi"}},
        }
        create(talk, "persistentvolumeclaims", {"metadata": {"name": "v"}, "spec": claim})
        until(used, _CHARGED)
        talk.ask("DELETE", f"{_CORE}/pods/a")
        ended = {"status": {"phase": "Succeeded"}}
        talk.ask("PATCH", f"{_CORE}/pods/b/status", ended, type=MERGE)
        talk.ask("DELETE", f"{_CORE}/services/s")
        until(used, _FREED)
        change = {"spec": {"hard": {"cpu": None, "services": "7"}}}
        talk.ask("PATCH", f"{_CORE}/resourcequotas/q", change, type=MERGE)
        changed = {name: value for name, value in _FREED.items() if name != "cpu"}
        until(used, changed | {"services": "0"})
