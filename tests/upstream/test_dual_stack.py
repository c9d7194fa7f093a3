"""Services of two address families: both makes of controllers on both makes of API servers."""

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest

from winkube.api.errors import ForbiddenError
from winkube.client.resource import ENDPOINTS, ENDPOINTSLICES, NAMESPACES, NODES, PODS, SERVICES
from winkube.client.rest import ApiClient
from winkube.testing.planes import Make, Plane, api_server, controllers, upstream_folder

pytestmark = pytest.mark.skipif(
    upstream_folder() is None, reason="upstream is not built: run `make upstream`"
)

Json = Any
TWO: Final = "RequireDualStack"
SPECS: Final[dict[str, Json]] = {
    "both": {"ipFamilyPolicy": TWO, "ipFamilies": ["IPv4", "IPv6"]},
    "turned": {"ipFamilyPolicy": TWO, "ipFamilies": ["IPv6", "IPv4"]},
    "six": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv6"]},
    "four": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]},
    "headless": {"ipFamilyPolicy": TWO, "clusterIP": "None"},
    "less": {"ipFamilyPolicy": TWO, "ipFamilies": ["IPv4", "IPv6"]},
}
PODS_HAVE: Final = {
    "two": ["10.1.0.1", "fd01::1"],
    "turned": ["fd01::2", "10.1.0.2"],
    "old": ["10.1.0.3"],
    "new": ["fd01::4"],
}
PATIENCE: Final = 60.0
QUIET_SECONDS: Final = 2.0


def service(name: str) -> Json:
    ports = [{"name": "web", "port": 80, "targetPort": 8080}]
    spec = {"selector": {"app": "web"}, "ports": ports, **SPECS[name]}
    return {"metadata": {"name": name}, "spec": spec}


def pod(name: str) -> Json:
    containers = [{"name": "main", "image": "app:1", "ports": [{"containerPort": 8080}]}]
    metadata = {"name": name, "labels": {"app": "web"}}
    return {"metadata": metadata, "spec": {"nodeName": "node", "containers": containers}}


def status(name: str) -> Json:
    ips = PODS_HAVE[name]
    ready = [{"type": "Ready", "status": "False" if name == "turned" else "True"}]
    addresses = {"podIP": ips[0], "podIPs": [{"ip": ip} for ip in ips]}
    return {"status": {"phase": "Running", "conditions": ready, **addresses}}


async def create_pod(client: ApiClient, name: str, namespace: str) -> None:
    """Once the namespace has its account: before, pods are refused."""
    while True:
        try:
            await client.create(PODS, pod(name), namespace=namespace)
        except ForbiddenError:
            await asyncio.sleep(0.2)
        else:
            break
    await client.patch(PODS, name, status(name), namespace=namespace, subresource="status")


def told(slice_: Json) -> Json:
    labels = slice_["metadata"]["labels"]
    endpoints = [
        (each["addresses"], each["conditions"], each.get("nodeName"), each["targetRef"]["name"])
        for each in slice_["endpoints"] or ()
    ]
    return {
        "name": slice_["metadata"]["generateName"],
        "labels": labels,
        "type": slice_["addressType"],
        "ports": slice_["ports"],
        "endpoints": sorted(endpoints, key=str),
    }


def told_old(endpoints: Json) -> Json:
    """Their names and addresses: who is behind them is in the slices."""
    parts = [
        {field: sorted(a["ip"] for a in part.get(field) or ()) for field in part if "res" in field}
        | {"ports": part["ports"]}
        for part in endpoints.get("subsets") or ()
    ]
    return {endpoints["metadata"]["name"]: parts}


async def look(client: ApiClient, namespace: str) -> Json:
    slices = (await client.list(ENDPOINTSLICES, namespace=namespace))["items"]
    old = (await client.list(ENDPOINTS, namespace=namespace))["items"]
    return sorted(map(told, slices), key=str), sorted(map(told_old, old), key=str)


async def settled(client: ApiClient, namespace: str, wanted: int) -> Json:
    """What there is once there are so many slices and nothing changes for a while."""
    async with asyncio.timeout(PATIENCE):
        while True:
            before = await look(client, namespace)
            await asyncio.sleep(QUIET_SECONDS)
            if len(before[0]) == wanted and before == await look(client, namespace):
                return before


async def play(plane: Plane, make: Make) -> list[Json]:
    async with ApiClient(plane.client) as client:
        await client.create(NAMESPACES, {"metadata": {"name": make}})
        for name in SPECS:
            await client.create(SERVICES, service(name), namespace=make)
        for name in PODS_HAVE:
            await create_pod(client, name, make)
        # Four services of two families, two of one.
        first = await settled(client, make, 10)
        single = {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}
        found = await client.get(SERVICES, "less", namespace=make)
        spec = {**found["spec"], **single, "clusterIPs": found["spec"]["clusterIPs"][:1]}
        await client.update(SERVICES, {**found, "spec": spec})
        await client.delete(PODS, "two", namespace=make, options={"gracePeriodSeconds": 0})
        return [first, await settled(client, make, 9)]


async def test_both_makes_give_services_the_same_addresses(tmp_path: Path) -> None:
    ranges = ["--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112"]
    outcomes = {}
    makes: list[Make] = ["upstream", "winkube"]
    for server in makes:
        with api_server(server, tmp_path / server, ranges) as plane:
            async with ApiClient(plane.client) as client:
                await client.create(NODES, {"metadata": {"name": "node"}})
            for make in makes:
                with controllers(make, plane):
                    outcomes[server, make] = await play(plane, make)
    expected = outcomes["upstream", "upstream"]
    assert {which for which, found in outcomes.items() if found != expected} == set()
