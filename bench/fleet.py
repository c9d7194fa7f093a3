"""A large fleet of simulated nodes: until all take pods, then until pods on them run.

The gate of kwok, which does nothing else, is a minute for 5,000 nodes and a minute for 10,000 pods;
here controllers and scheduler do all their work on them, too. The nodes count when they are
registered, have their networks and no taint is left; the pods are made by one client and count
when they run. Processor time by process. Run as ``python -m bench.fleet``.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import uvloop

from bench import api
from winkube.base.types import JsonObject
from winkube.client.resource import NODES, PODS, SERVICEACCOUNTS, Resource
from winkube.client.rest import ApiClient
from winkube.testing.planes import Plane, api_server, controllers, nodes, scheduler

NODE_COUNT = int(os.environ.get("WINKUBE_BENCH_NODES", "5000"))
POD_COUNT = int(os.environ.get("WINKUBE_BENCH_PODS", "10000"))
KWOK_SECONDS = 60.0
FLEET = {"name": "node", "count": NODE_COUNT, "windows": "ltsc2022"}
# More networks than the default range has room for.
FLAGS = ("--cluster-cidr=10.128.0.0/9",)


def takes_pods(node: JsonObject) -> bool:
    conditions = node["status"].get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and bool(node["spec"].get("podCIDR")) and not node["spec"].get("taints")


def runs(pod: JsonObject) -> bool:
    return bool(pod["status"].get("phase") == "Running")


async def until_all(
    client: ApiClient, resource: Resource, count: int, holds: Callable[[JsonObject], bool]
) -> None:
    """Watch from nothing until so many objects are as they should be."""
    good: set[str] = set()
    async with client.watch(resource, resource_version="0") as events:
        async for _, obj in events:
            if obj["metadata"].get("name") and holds(obj):
                good.add(obj["metadata"]["name"])
                if len(good) == count:
                    return


class Report:
    """Seconds, and what each process used meanwhile."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids
        self._began = time.perf_counter()
        self._before = {name: api.cpu_seconds(pid) for name, pid in pids.items()}

    def line(self, what: str) -> str:
        seconds = time.perf_counter() - self._began
        used = ", ".join(
            f"{name} {api.cpu_seconds(pid) - self._before[name]:.1f}"
            for name, pid in self._pids.items()
        )
        ratio = KWOK_SECONDS / seconds
        return f"{what} in {seconds:5.1f} s ({ratio:.1f} x kwok's gate); processor seconds: {used}"


async def _measure(plane: Plane, pids: Mapping[str, int], report: Report) -> None:
    async with ApiClient(plane.client) as client:
        await until_all(client, NODES, NODE_COUNT, takes_pods)
        print(report.line(f"{NODE_COUNT:>6} nodes take pods"), flush=True)
        while not (await client.list(SERVICEACCOUNTS, namespace="default"))["items"]:  # noqa: ASYNC110 - made by another process
            await asyncio.sleep(0.05)
        report = Report(pids)
        async with asyncio.TaskGroup() as group:
            group.create_task(until_all(client, PODS, POD_COUNT, runs), name="watch")
            group.create_task(_create_pods(client), name="create")
        print(report.line(f"{POD_COUNT:>6} pods run"), flush=True)
        for name, pid in pids.items():
            print(f"       {name:<12} {api.resident(pid):5.0f} MB")


def _pod(number: int) -> JsonObject:
    """As small as kwok's."""
    return {
        "metadata": {"name": f"pod-{number}", "labels": {"app": "fleet"}},
        "spec": {
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "containers": [{"name": "c", "image": "one"}],
        },
    }


async def _create_pods(client: ApiClient) -> None:
    async def create(number: int) -> None:
        await client.create(PODS, _pod(number), namespace="default")

    await api.spread(POD_COUNT, create)


def main() -> int:
    with (
        tempfile.TemporaryDirectory(prefix="winkube-bench-") as name,
        api_server("winkube", Path(name)) as plane,
        controllers("winkube", plane, FLAGS) as controlling,
        scheduler("winkube", plane) as scheduling,
        nodes(plane, FLEET) as simulating,
    ):
        pids = {
            "API server": plane.pids[0],
            "controllers": controlling,
            "scheduler": scheduling,
            "nodes": simulating,
        }
        uvloop.run(_measure(plane, pids, Report(pids)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
