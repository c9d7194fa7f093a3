"""Controllers benchmark: whole workloads on simulated nodes, on winkube and on upstream.

Every part is a process of its own; the nodes are ours on both sides. Upstream's controllers and
scheduler get the client rates of large clusters: with their default 20 requests a second this
would measure only that. Run as ``python -m bench.workloads``.
"""

import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvloop

from bench.api import cpu_seconds
from winkube.base.types import JsonObject
from winkube.client.resource import DAEMONSETS, DEPLOYMENTS, JOBS, NODES, Resource
from winkube.client.rest import ApiClient
from winkube.testing.planes import (
    Make,
    Plane,
    api_server,
    controllers,
    nodes,
    scheduler,
    upstream_folder,
)

NODE_COUNT = 200
PODS = int(os.environ.get("WINKUBE_BENCH_PODS", "1000"))
RATES = ("--kube-api-qps=1000", "--kube-api-burst=2000")
SCHEDULER_CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}, qps: 1000, burst: 2000}}
leaderElection: {{leaderElect: false}}
"""
Results = dict[str, tuple[float, float]]


def _template(app: str, image: str, notes: dict[str, str] | None = None) -> JsonObject:
    return {
        "metadata": {"labels": {"app": app}, "annotations": notes or {}},
        "spec": {
            "containers": [{"name": "c", "image": image}],
            "terminationGracePeriodSeconds": 0,
        },
    }


def _workload(name: str, **spec: Any) -> JsonObject:
    body = {"selector": {"matchLabels": {"app": name}}, "template": _template(name, "one"), **spec}
    return {"metadata": {"name": name}, "spec": body}


def _job(name: str) -> JsonObject:
    template = _template(name, "one", {"simulation.winkube.dev/exit": "after=0,code=0"})
    template["spec"]["restartPolicy"] = "Never"
    body = {"completions": PODS, "parallelism": PODS, "template": template}
    return {"metadata": {"name": name}, "spec": body}


class Bench:
    def __init__(self, client: ApiClient, pids: tuple[int, ...]) -> None:
        self._client = client
        self._pids = pids
        self.results: Results = {}

    @asynccontextmanager
    async def _timed(self, what: str) -> AsyncIterator[None]:
        start, before = time.perf_counter(), sum(map(cpu_seconds, self._pids))
        yield
        taken = time.perf_counter() - start
        self.results[what] = (taken, sum(map(cpu_seconds, self._pids)) - before)

    async def run(self) -> None:
        async with self._timed(f"{NODE_COUNT} nodes registered"):
            await self._nodes_ready()
        web = _workload("web", replicas=PODS)
        async with self._timed(f"Deployment of {PODS} available"):
            await self._client.create(DEPLOYMENTS, web, namespace="default")
            await self._until(DEPLOYMENTS, "web", _all("availableReplicas", PODS))
        async with self._timed(f"Deployment of {PODS} rolled"):
            await self._change(DEPLOYMENTS, "web")
            done = _all("updatedReplicas", PODS)
            await self._until(
                DEPLOYMENTS,
                "web",
                lambda obj: done(obj) and obj["status"].get("replicas") == PODS == _ready(obj),
            )
        async with self._timed(f"Job of {PODS} pods complete"):
            await self._client.create(JOBS, _job("work"), namespace="default")
            await self._until(JOBS, "work", _all("succeeded", PODS))
        async with self._timed(f"DaemonSet on {NODE_COUNT} nodes ready"):
            every = _workload("every", updateStrategy={"rollingUpdate": {"maxUnavailable": "25%"}})
            await self._client.create(DAEMONSETS, every, namespace="default")
            await self._until(DAEMONSETS, "every", _all("numberAvailable", NODE_COUNT))
        async with self._timed(f"DaemonSet on {NODE_COUNT} nodes rolled"):
            await self._change(DAEMONSETS, "every")
            done_on_nodes = _all("updatedNumberScheduled", NODE_COUNT)
            await self._until(
                DAEMONSETS,
                "every",
                lambda obj: (
                    done_on_nodes(obj) and obj["status"].get("numberAvailable") == NODE_COUNT
                ),
            )

    async def _nodes_ready(self) -> None:
        while len((await self._client.list(NODES))["items"]) < NODE_COUNT:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def _change(self, resource: Resource, name: str) -> None:
        two = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "two"}]}}}}
        await self._client.patch(resource, name, two, namespace="default")

    async def _until(
        self, resource: Resource, name: str, done: Callable[[JsonObject], bool]
    ) -> None:
        while not done(await self._client.get(resource, name, namespace="default")):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def _all(field: str, wanted: int) -> Callable[[JsonObject], bool]:
    """Whether the newest spec is observed and ``field`` counts as many as wanted."""

    def holds(obj: JsonObject) -> bool:
        status = obj.get("status") or {}
        seen = status.get("observedGeneration", obj["metadata"].get("generation"))
        return seen == obj["metadata"].get("generation") and status.get(field) == wanted

    return holds


def _ready(obj: JsonObject) -> int:
    return int(obj["status"].get("availableReplicas", 0))


@contextmanager
def control_plane(
    make: Make, folder: Path, flags: tuple[str, ...] = ()
) -> Iterator[tuple[Plane, tuple[int, ...]]]:
    """API server, controllers and scheduler of one make; the processes that count as its cost."""
    with contextlib.ExitStack() as stack:
        plane = stack.enter_context(api_server(make, folder))
        extra: tuple[str, ...] = ()
        if make == "upstream":
            config = folder / "scheduler.yaml"
            kubeconfig = plane.kubeconfig("system:kube-scheduler")
            config.write_text(SCHEDULER_CONFIG.format(kubeconfig=kubeconfig))
            extra = (f"--config={config}",)
        rates = RATES if make == "upstream" else ()
        pids = (
            stack.enter_context(controllers(make, plane, (*rates, *flags))),
            stack.enter_context(scheduler(make, plane, extra)),
        )
        yield plane, (*plane.pids, *pids)


def _run(make: Make) -> Results:
    with (
        tempfile.TemporaryDirectory(prefix="winkube-bench-") as name,
        control_plane(make, Path(name)) as (plane, pids),
        nodes(plane, NODE_COUNT),
    ):
        return uvloop.run(_measure(plane, pids))


async def _measure(plane: Plane, pids: tuple[int, ...]) -> Results:
    async with ApiClient(plane.client) as client:
        bench = Bench(client, pids)
        await bench.run()
        return bench.results


def main() -> int:
    ours = _run("winkube")
    theirs = _run("upstream") if upstream_folder() else {}
    print(f"{'':<36}{'winkube':>10}{'upstream':>10}{'':>8}   processor time")
    for what, (taken, cpu) in ours.items():
        line = f"{what:<36}{taken:>8.1f} s"
        if what in theirs:
            other, other_cpu = theirs[what]
            line += f"{other:>8.1f} s{other / taken:>6.1f} x   {cpu:.1f} s to {other_cpu:.1f} s"
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
