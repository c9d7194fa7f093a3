"""A namespace that cannot be emptied says why, as upstream's does, and goes when it can."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from winkube.api.errors import NotFoundError
from winkube.client.resource import NAMESPACES, Resource
from winkube.client.rest import ApiClient
from winkube.testing.planes import Make, Plane, api_server, controllers, upstream_folder

GROUP = "silent.example.com"
API_SERVICES = Resource("apiregistration.k8s.io", "v1", "apiservices", False)
HOOKS = Resource("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", False)
NAME = "going"


async def until(what: Any, seconds: float = 60.0) -> Any:
    async with asyncio.timeout(seconds):
        while not (found := await what()):  # noqa: ASYNC110 - the state is another process's
            await asyncio.sleep(0.1)
    return found


def silent_group() -> dict[str, Any]:
    spec = {
        "group": GROUP,
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
        "insecureSkipTLSVerify": True,
        "service": {"name": "nobody", "namespace": "default"},
    }
    return {"metadata": {"name": f"v1.{GROUP}"}, "spec": spec}


def refusing_hook() -> dict[str, Any]:
    """Nobody answers it, so that no secret can be deleted."""
    rule = {
        "operations": ["DELETE"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["secrets"],
    }
    hook = {
        "name": "refuse.example.com",
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
        "clientConfig": {"url": "https://127.0.0.1:1/"},
    }
    return {"metadata": {"name": "refuse"}, "webhooks": [hook]}


async def conditions_while(
    client: ApiClient, obstacle: Resource, obj: dict[str, Any], bad: str
) -> Any:
    """The conditions of a namespace that is deleted while ``obstacle`` is in the way."""
    await client.create(obstacle, obj)
    await client.create(NAMESPACES, {"metadata": {"name": NAME}})
    secret = {"metadata": {"name": "kept"}}
    await client.create(Resource("", "v1", "secrets", True), secret, namespace=NAME)
    if obstacle is API_SERVICES:
        await until(lambda: _is_given_up(client))
    await client.delete(NAMESPACES, NAME)

    async def told() -> Any:
        namespace = await client.get(NAMESPACES, NAME)
        found = namespace["status"].get("conditions") or []
        failing = any(entry["type"] == bad and entry["status"] == "True" for entry in found)
        return found if failing else None

    conditions = await until(told)
    await client.delete(obstacle, obj["metadata"]["name"])
    await until(lambda: _is_gone(client))
    keys = ("type", "status", "reason", "message")
    return sorted(tuple(entry.get(key) for key in keys) for entry in conditions)


async def _is_given_up(client: ApiClient) -> bool:
    service = await client.get(API_SERVICES, f"v1.{GROUP}")
    found = (service.get("status") or {}).get("conditions") or []
    return any(entry["type"] == "Available" and entry["status"] == "False" for entry in found)


async def _is_gone(client: ApiClient) -> bool:
    try:
        await client.get(NAMESPACES, NAME)
    except NotFoundError:
        return True
    return False


async def play(plane: Plane, obstacle: Resource, obj: dict[str, Any], bad: str) -> Any:
    async with ApiClient(plane.client) as client:
        return await conditions_while(client, obstacle, obj, bad)


@pytest.mark.parametrize(
    ("obstacle", "obj", "bad"),
    [
        (API_SERVICES, silent_group(), "NamespaceDeletionDiscoveryFailure"),
        (HOOKS, refusing_hook(), "NamespaceDeletionContentFailure"),
    ],
    ids=["a group whose server is silent", "a webhook that refuses deletions"],
)
async def test_a_namespace_says_what_is_in_its_way(
    tmp_path: Path, obstacle: Resource, obj: dict[str, Any], bad: str
) -> None:
    makes: list[Make] = ["winkube", "upstream"] if upstream_folder() else ["winkube"]
    seen = []
    for make in makes:
        folder = tmp_path / make
        folder.mkdir()
        with api_server(make, folder) as plane, controllers(make, plane):
            seen.append(await play(plane, obstacle, obj, bad))
    assert all(answer == seen[0] for answer in seen[1:]), seen
