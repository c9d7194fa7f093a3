"""The headline numbers: ``up`` by step, Windows pod start, idle cost, memory by process, ``down``.

The field's published numbers stand beside ours as ratios; they were taken on other machines, so a
ratio is a sense of scale and not a race.
"""

import asyncio
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from winkube.api.errors import NotFoundError
from winkube.base.types import JsonObject
from winkube.client.config import load_kubeconfig
from winkube.client.resource import PODS
from winkube.client.rest import ApiClient

NAME = os.environ.get("WINKUBE_BENCH_NAME", "bench")
STARTS = 20
RUNS = 3
IDLE_SECONDS = 30.0
PUBLISHED_UP = {"k3d": 19.9, "kind": 33.0, "minikube": 50.8}
WINDOWS_GATE = {"p50": 30.0, "p99": 59.0}
STAGES = ("bound to a node", "container runs", "answers HTTP 200")


def compiled() -> dict[str, str]:
    """The environment of a user: one that forbids bytecode measures the compiler, every time."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def winkube(env: dict[str, str], *args: str) -> str:
    argv = [sys.executable, "-m", "winkube", *args]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def measure_up(env: dict[str, str]) -> None:
    steps: dict[str, list[float]] = {}
    downs = []
    winkube(env, "down", "--name", NAME)
    for run in range(RUNS):
        began = time.monotonic()
        text = winkube(env, "up", "--name", NAME)
        total = time.monotonic() - began
        for title, seconds in re.findall(r"✓ (.+?)\s+(\d+\.\d+) s", text):
            steps.setdefault(title, []).append(float(seconds))
        steps.setdefault("total, with the interpreter", []).append(total)
        if run < RUNS - 1:
            began = time.monotonic()
            winkube(env, "down", "--name", NAME)
            downs.append(time.monotonic() - began)
    print(f"winkube up, warm, 1 Linux + 2 Windows nodes, median of {RUNS}")
    for title, values in steps.items():
        print(f"  {title:<28} {statistics.median(values):6.2f} s")
    total = statistics.median(steps["total, with the interpreter"])
    for tool, seconds in PUBLISHED_UP.items():
        print(f"  {f'{tool} (published) / ours':<28} {seconds / total:6.1f} x")
    print(f"winkube down                   {statistics.median(downs):6.2f} s")


def pod(name: str) -> JsonObject:
    return {
        "metadata": {"name": name},
        "spec": {
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "iis", "image": "microsoft/iis"}],
        },
    }


async def answers(address: str) -> bool:
    """Ask from this process: a program per question would slow down what it measures."""
    try:
        async with asyncio.timeout(0.5):
            reader, writer = await asyncio.open_connection(address, 80)
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            line = await reader.readline()
            writer.close()
    except (OSError, TimeoutError):
        return False
    return b" 200 " in line


@contextlib.contextmanager
def routed(address: str, node: str) -> Iterator[None]:
    """Reach a pod from the host, past every Service."""
    subprocess.run(["ip", "route", "replace", f"{address}/32", "via", node], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "route", "del", f"{address}/32"], check=True)


async def until_answers(address: str) -> None:
    while True:
        if await answers(address):
            return
        await asyncio.sleep(0.005)


async def until_gone(client: ApiClient, name: str) -> None:
    with contextlib.suppress(NotFoundError):
        while True:
            await client.get(PODS, name, namespace="default")
            await asyncio.sleep(0.05)


async def start_one(client: ApiClient, name: str) -> list[float]:
    """Seconds from the create to each stage."""
    listing = await client.list(PODS, namespace="default", limit=1)
    began = time.monotonic()
    bound = 0.0
    async with client.watch(
        PODS, namespace="default", resource_version=listing["metadata"]["resourceVersion"]
    ) as events:
        await client.create(PODS, pod(name), namespace="default")
        async for _, obj in events:
            if obj["metadata"]["name"] != name:
                continue
            bound = bound or (time.monotonic() - began if obj["spec"].get("nodeName") else 0.0)
            status = obj["status"]
            if status["phase"] == "Running" and status.get("podIP"):
                break
        else:
            raise ConnectionError(f"the watch ended before {name} ran")
        running = time.monotonic() - began
    with routed(status["podIP"], status["hostIP"]):
        await until_answers(status["podIP"])
        answered = time.monotonic() - began
    await client.delete(PODS, name, namespace="default", options={"gracePeriodSeconds": 0})
    await until_gone(client, name)
    return [bound, running, answered]


async def measure_pods(kubeconfig: Path) -> None:
    async with ApiClient(load_kubeconfig(kubeconfig)) as client:
        rows = [await start_one(client, f"start-{index}") for index in range(STARTS)]
    print(f"\nWindows pod, from create, {STARTS} in a row")
    for title, values in zip(STAGES, map(sorted, zip(*rows, strict=True)), strict=True):
        print(f"  {title:<28} p50 {statistics.median(values):5.2f} s   p99 {values[-1]:5.2f} s")
    times = sorted(row[-1] for row in rows)
    found = {"p50": statistics.median(times), "p99": times[-1]}
    for title, seconds in found.items():
        ratio = WINDOWS_GATE[title] / seconds
        print(f"  {f'upstream gate / ours, {title}':<28} {ratio:5.1f} x")


def cluster_cpu() -> float:
    """Seconds of processor time of all processes of the cluster, their ended children included."""
    total = 0.0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"/winkube/{NAME}/" in (process / "cgroup").read_text():
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return total


def measure_idle() -> None:
    time.sleep(5)
    before = cluster_cpu()
    time.sleep(IDLE_SECONDS)
    share = (cluster_cpu() - before) / IDLE_SECONDS
    print(f"\nIdle, no pods, over {IDLE_SECONDS:.0f} s: {share:.1%} of one processor")


def measure_memory(env: dict[str, str]) -> None:
    print("\nMemory by process (proportional set size)")
    text = winkube(env, "status", "--name", NAME)
    total = 0
    for name, size in re.findall(r"^(\S+)\s+running\s+\d+\s+(\d+) MiB", text, re.MULTILINE):
        total += int(size)
        print(f"  {name:<22} {size:>5} MiB")
    print(f"  {'all':<22} {total:>5} MiB")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "config"
        env = {**compiled(), "KUBECONFIG": str(kubeconfig)}
        try:
            measure_up(env)
            asyncio.run(measure_pods(kubeconfig))
            measure_idle()
            measure_memory(env)
        finally:
            winkube(env, "down", "--name", NAME)


if __name__ == "__main__":
    main()
