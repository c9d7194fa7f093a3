"""Scheduling benchmark: 5,000 pods on 1,000 nodes, from the first create to the last binding.

The API server is one process, controllers and scheduler another, as in a cluster; the nodes are
objects only. WINKUBE_BENCH_SPLIT=1 gives the scheduler a process of its own. The field's number is
upstream's, measured on a 2-core machine. Run as ``python -m bench.schedule``.

Before that come single decisions, without a server: how their cost grows with the number of pods
there are, and that of preemption with the number of nodes. ``python -m bench.schedule decisions``
stops after them.
"""

import asyncio
import contextlib
import functools
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvloop

from bench import api
from winkube.api.errors import ApiError
from winkube.client.config import ClientConfig
from winkube.client.errors import ClientError
from winkube.client.resource import NODES, PODS, SERVICEACCOUNTS
from winkube.client.rest import ApiClient

NODE_COUNT = int(os.environ.get("WINKUBE_BENCH_NODES", "1000"))
POD_COUNT = int(os.environ.get("WINKUBE_BENCH_PODS", "5000"))
UPSTREAM = 116.0
PORTIONS = 10


def node(index: int) -> dict[str, Any]:
    high, low = divmod(index, 256)
    amounts = {"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    labels = {"kubernetes.io/hostname": f"node-{index}", "kubernetes.io/os": "windows"}
    cidr = f"10.{high}.{low}.0/24"
    return {
        "metadata": {"name": f"node-{index}", "labels": labels},
        "spec": {"podCIDR": cidr, "podCIDRs": [cidr]},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    }


def _control(config: ClientConfig, parts: tuple[str, ...]) -> None:
    from winkube.controllers.config import ControllerConfig
    from winkube.controllers.manager import ControllerManager
    from winkube.scheduler.config import SchedulerConfig
    from winkube.scheduler.scheduler import Scheduler

    async def main() -> None:
        # Bare nodes have no leases: they are not what is measured.
        controllers = ControllerConfig(cluster_cidr="10.0.0.0/8", node_grace_period=3600.0)
        async with ApiClient(config) as client, asyncio.TaskGroup() as group:
            if "controllers" in parts:
                group.create_task(ControllerManager(client, controllers).run())
            if "scheduler" in parts:
                group.create_task(Scheduler(client, SchedulerConfig()).run())

    profile = os.environ.get("WINKUBE_BENCH_PROFILE")
    if profile:
        import cProfile

        names = {"uvloop": uvloop, "main": main}
        with contextlib.suppress(KeyboardInterrupt):
            cProfile.runctx("uvloop.run(main())", names, {}, f"{profile}.{parts[-1]}")
        return
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(main())


@contextmanager
def _running(target: Any, *args: Any) -> Iterator[int]:
    process = multiprocessing.get_context("fork").Process(target=target, args=args)
    process.start()
    pid = process.pid or 0
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGINT)
        process.join(10)
        process.kill()


async def _spread(client: ApiClient, resource: Any, objects: list[Any], namespace: Any) -> None:
    left = iter(objects)

    async def worker() -> None:
        for obj in left:
            await client.create(resource, obj, namespace=namespace)

    async with asyncio.TaskGroup() as group:
        for _ in range(api.CONNECTIONS):
            group.create_task(worker())


async def _await_server(client: ApiClient) -> None:
    while True:
        with contextlib.suppress(ApiError, ClientError):
            await client.get(SERVICEACCOUNTS, "default", namespace="default")
            return
        await asyncio.sleep(0.05)


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


async def _measure(config: ClientConfig, pids: dict[str, int]) -> None:
    async with ApiClient(config) as client:
        await _await_server(client)
        began = time.perf_counter()
        await _spread(client, NODES, [node(n) for n in range(NODE_COUNT)], None)
        print(f"{NODE_COUNT} nodes registered        {time.perf_counter() - began:8.1f} s")
        await _untainted(client)
        pods = [api.pod(n, n % api.APPS) for n in range(POD_COUNT)]
        listing = await client.list(PODS)
        marks: list[float] = []
        before = {name: api.cpu_seconds(pid) for name, pid in pids.items()}
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            group.create_task(_bound(client, listing["metadata"]["resourceVersion"], marks))
            await _spread(client, PODS, pods, "default")
            created = time.perf_counter() - began
        taken = time.perf_counter() - began
        rate = POD_COUNT / taken
        print(f"{POD_COUNT} pods created            {created:8.1f} s")
        print(
            f"create to bound              {rate:8.0f} pods/s   "
            f"upstream {UPSTREAM:.0f}/s, {rate / UPSTREAM:.1f} x"
        )
        for name, pid in pids.items():
            cpu = (api.cpu_seconds(pid) - before[name]) / POD_COUNT * 1e6
            memory = api.resident(pid)
            print(f"  {name:<26} {cpu:8.0f} us per pod, {memory:.0f} MB")


# -- single decisions


def _placed(world: Any, shapes: Any, nodes: int, pods: int) -> None:
    """Nodes with pods of 200 controllers on them, spread evenly."""
    for number in range(nodes):
        world.set_node(node(number))
    world.spreading.find = lambda owner, namespace: {
        "spec": {"selector": {"matchLabels": {"app": owner[2]}}}
    }
    for number in range(pods):
        made = shapes.pod(_owned(f"old-{number}", f"app-{number % 200}"))
        # Every node gets as many, and the pods of a controller are on different nodes.
        world.place(made, f"node-{(number + number // nodes) % nodes}")


def _owned(name: str, app: str, **spec: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app}
    requests = {"cpu": "100m", "memory": "128Mi"}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "labels": {"app": app, "tier": "web"},
        "ownerReferences": [{**owner, "controller": True}],
    }
    containers = [{"name": "c", "image": "example.com/a:1", "resources": {"requests": requests}}]
    return {"metadata": metadata, "spec": {"containers": containers, **spec}}


_HOST = "kubernetes.io/hostname"
_SELECTOR = {"matchLabels": {"app": "app-7"}}
_TERM = {"topologyKey": _HOST, "labelSelector": _SELECTOR}
_SPREAD = {"topologyKey": _HOST, "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 5}
_APART = {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    # Whose pods they are, and what else they say.
    "pods of one controller": ("app-7", {}),
    "pods of 200 controllers": ("app-{}", {}),
    "pods of new controllers": ("own-{}", {}),
    "with a spread constraint": (
        "app-7",
        {"topologySpreadConstraints": [{**_SPREAD, "labelSelector": _SELECTOR}]},
    ),
    "with anti-affinity": ("own-{}", {"affinity": {"podAntiAffinity": _APART}}),
}


def _decision(pods: int, case: str, times: int = 420) -> float:
    """Microseconds of one decision among so many pods, once every group has been met."""
    from winkube.scheduler.decision import Decider
    from winkube.scheduler.profile import default_profile
    from winkube.scheduler.shape import ShapeCache
    from winkube.scheduler.world import World

    world, shapes = World(), ShapeCache()
    _placed(world, shapes, 1000, pods)
    decider = Decider(default_profile(), world)
    app, spec = CASES[case]
    new = app.startswith("own")
    wanted = [
        shapes.pod(_owned(f"new-{n}", app.format(n if new else n % 200), **spec))
        for n in range(times)
    ]
    for each in wanted[:220]:
        world.place(each, decider.choose(each) or "")
    began = time.process_time()
    for each in wanted[220:]:
        world.place(each, decider.choose(each) or "")
    return (time.process_time() - began) / (times - 220) * 1e6


def _preemption(nodes: int, times: int = 10) -> float:
    """Milliseconds to choose the victims on so many full nodes."""
    from winkube.scheduler.decision import Decider
    from winkube.scheduler.preemption import Preemption
    from winkube.scheduler.profile import default_profile
    from winkube.scheduler.shape import ShapeCache
    from winkube.scheduler.world import World

    world, shapes, profile = World(), ShapeCache(), default_profile()
    _placed(world, shapes, nodes, nodes * 110)
    decider, preemption = Decider(profile, world), Preemption(profile, world)
    taken = 0.0
    for number in range(times):
        vip = shapes.pod(_owned(f"vip-{number}", f"vip-{number}", priority=1000))
        began = time.process_time()
        if decider.choose(vip) is None:
            why = decider.diagnose(vip)
            outcome = preemption.run(functools.partial(decider.cycle, vip), vip, why)
            world.nominate(vip, outcome.nominate or "")
        taken += time.process_time() - began
    return taken / times * 1e3


def decisions() -> None:
    few, many = 1_000, 20_000
    print(f"one decision, 1,000 nodes     {few:>8} pods {many:>8} pods    growth")
    for case in CASES:
        small, large = _decision(few, case), _decision(many, case)
        print(f"  {case:<26} {small:10.0f} us {large:10.0f} us {large / small:8.2f} x")
    small, large = _preemption(100), _preemption(1000)
    print("preemption, 110 pods a node        100 nodes    1000 nodes")
    print(f"  {'choice of victims':<26} {small:10.1f} ms {large:10.1f} ms {large / small:8.2f} x")


def main() -> int:
    decisions()
    if sys.argv[1:] == ["decisions"]:
        return 0
    with tempfile.TemporaryDirectory(prefix="winkube-bench-") as name, socket.socket() as sock:
        folder = Path(name)
        api.write_certificate(folder)
        sock.bind(("127.0.0.1", 0))
        sock.listen(1024)
        config = ClientConfig(
            server=f"https://127.0.0.1:{sock.getsockname()[1]}",
            ca_file=folder / "tls.crt",
            cert_file=folder / "tls.crt",
            key_file=folder / "tls.key",
        )
        split = os.environ.get("WINKUBE_BENCH_SPLIT")
        groups = [("controllers",), ("scheduler",)] if split else [("controllers", "scheduler")]
        with contextlib.ExitStack() as stack:
            pids = {"API server": stack.enter_context(_running(api.serve, folder, sock))}
            for parts in groups:
                pid = stack.enter_context(_running(_control, config, parts))
                pids[" and ".join(parts)] = pid
            uvloop.run(_measure(config, pids))
    return 0


if __name__ == "__main__":
    sys.exit(main())
