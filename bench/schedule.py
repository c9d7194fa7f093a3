"""Scheduling benchmark: 5,000 pods on 1,000 nodes, from the first create to the last binding.

API server, controllers and scheduler are processes of their own; the nodes are objects only. Where
upstream is built (``make upstream``) its control plane is measured in the same run, with the client
rates of large clusters, else the ratio is to what it did on a 2-core machine. Run as
``python -m bench.schedule``; single decisions are in ``bench.decisions``.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import uvloop

from bench import api
from bench.workloads import control_plane
from winkube.client.resource import NODES, PODS, SERVICEACCOUNTS
from winkube.client.rest import ApiClient
from winkube.testing.planes import Make, Plane, upstream_folder

NODE_COUNT = int(os.environ.get("WINKUBE_BENCH_NODES", "1000"))
POD_COUNT = int(os.environ.get("WINKUBE_BENCH_PODS", "5000"))
# Measured once on a 2-core machine, for where upstream is not built.
REMEMBERED = 116.0
# Bare nodes have no leases, and more of them than the default range has room for.
FLAGS = ("--node-monitor-grace-period=3600s", "--cluster-cidr=10.128.0.0/9")


def node(index: int) -> dict[str, Any]:
    high, low = divmod(index, 256)
    amounts = {"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    labels = {"kubernetes.io/hostname": f"node-{index}", "kubernetes.io/os": "windows"}
    cidr = f"10.{128 + high}.{low}.0/24"
    return {
        "metadata": {"name": f"node-{index}", "labels": labels},
        "spec": {"podCIDR": cidr, "podCIDRs": [cidr]},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    }


async def _spread(client: ApiClient, resource: Any, objects: list[Any], namespace: Any) -> None:
    async def create(number: int) -> None:
        await client.create(resource, objects[number], namespace=namespace)

    await api.spread(len(objects), create)


async def _has_account(client: ApiClient) -> bool:
    accounts = await client.list(SERVICEACCOUNTS, namespace="default")
    return bool(accounts["items"])


async def _bound(client: ApiClient, version: str, marks: list[float]) -> None:
    seen: set[str] = set()
    async with client.watch(PODS, resource_version=version) as events:
        async for _, obj in events:
            name = obj["metadata"]["name"]
            if obj["spec"].get("nodeName") and name not in seen:
                seen.add(name)
                marks.append(time.perf_counter())
                if len(seen) == POD_COUNT:
                    return


async def _untainted(client: ApiClient) -> None:
    """New nodes take no pods until the controllers have seen that they are ready."""
    while True:
        await asyncio.sleep(1)
        nodes = (await client.list(NODES))["items"]
        if not any(node["spec"].get("taints") for node in nodes):
            return


async def _measure(plane: Plane, pids: tuple[int, ...]) -> float:
    """Pods bound a second."""
    async with ApiClient(plane.client) as client:
        while not await _has_account(client):  # noqa: ASYNC110 - made by another process
            await asyncio.sleep(0.05)
        began = time.perf_counter()
        await _spread(client, NODES, [node(n) for n in range(NODE_COUNT)], None)
        print(f"{plane.make}: {NODE_COUNT} nodes registered in {time.perf_counter() - began:.1f} s")
        await _untainted(client)
        pods = [api.pod(n, n % api.APPS) for n in range(POD_COUNT)]
        listing = await client.list(PODS)
        marks: list[float] = []
        before = api.used(pids)
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            group.create_task(_bound(client, listing["metadata"]["resourceVersion"], marks))
            await _spread(client, PODS, pods, "default")
            created = time.perf_counter() - began
        taken = time.perf_counter() - began
        cpu = (api.used(pids) - before) / POD_COUNT * 1e6
        print(
            f"{plane.make}: {POD_COUNT} pods created in {created:.1f} s, bound in {taken:.1f} s: "
            f"{POD_COUNT / taken:.0f}/s, {cpu:.0f} us of all processes each, "
            f"{sum(map(api.resident, pids)):.0f} MB"
        )
        return POD_COUNT / taken


def _run(make: Make) -> float:
    with (
        tempfile.TemporaryDirectory(prefix="winkube-bench-") as name,
        control_plane(make, Path(name), FLAGS) as (plane, pids),
    ):
        return uvloop.run(_measure(plane, pids))


def main() -> int:
    ours = _run("winkube")
    theirs = _run("upstream") if upstream_folder() else REMEMBERED
    print(f"create to bound: {ours:.0f}/s to upstream's {theirs:.0f}/s, {ours / theirs:.1f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
