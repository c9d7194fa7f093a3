"""The headline numbers: ``up`` by step, Windows pod start, memory by process.

The field's published numbers stand beside ours as ratios; they were taken on other machines, so a
ratio is a sense of scale and not a race.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

NAME = "bench"
PODS = 20
RUNS = 3
PUBLISHED_UP = {"k3d": 19.9, "kind": 33.0, "minikube": 50.8}
WINDOWS_GATE = {"p50": 30.0, "p99": 59.0}


def winkube(env: dict[str, str], *args: str) -> str:
    argv = [sys.executable, "-m", "winkube", *args]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def kubectl(env: dict[str, str], *args: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["kubectl", *args], env=env, input=stdin, capture_output=True, text=True, check=True
    )
    return done.stdout


def measure_up(env: dict[str, str]) -> None:
    steps: dict[str, list[float]] = {}
    for _ in range(RUNS):
        winkube(env, "down", "--name", NAME)
        began = time.monotonic()
        text = winkube(env, "up", "--name", NAME)
        steps.setdefault("total", []).append(time.monotonic() - began)
        for title, seconds in re.findall(r"✓ (.+?)\s+(\d+\.\d+) s", text):
            steps.setdefault(title, []).append(float(seconds))
    print(f"winkube up, warm, 1 Linux + 2 Windows nodes, median of {RUNS}")
    for title, values in steps.items():
        print(f"  {title:<22} {statistics.median(values):6.2f} s")
    total = statistics.median(steps["total"])
    for tool, seconds in PUBLISHED_UP.items():
        print(f"  {tool} (published) / ours {seconds / total:11.1f} x")


def pod(name: str) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "nodeSelector": {"kubernetes.io/os": "windows"},
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "iis", "image": "microsoft/iis"}],
            },
        }
    )


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/", timeout=0.5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def start_one(env: dict[str, str], name: str) -> float:
    """Create to HTTP 200, asked for from the host through a route to the pod."""
    began = time.monotonic()
    kubectl(env, "create", "-f", "-", stdin=pod(name))
    path = "{.status.podIP} {.status.hostIP}"
    while True:
        words = kubectl(env, "get", "pod", name, "-o", f"jsonpath={path}").split()
        if len(words) == 2:
            break
        time.sleep(0.02)
    address, node = words
    subprocess.run(["ip", "route", "replace", f"{address}/32", "via", node], check=True)
    try:
        while not answers(address):
            time.sleep(0.01)
        return time.monotonic() - began
    finally:
        subprocess.run(["ip", "route", "del", f"{address}/32"], check=True)
        kubectl(env, "delete", "pod", name, "--now", "--wait=false")


def measure_pods(env: dict[str, str]) -> None:
    times = sorted(start_one(env, f"start-{index}") for index in range(PODS))
    found = {"p50": statistics.median(times), "p99": times[-1]}
    print(f"\nWindows pod, create to HTTP 200, {PODS} in a row")
    for title, seconds in found.items():
        ratio = WINDOWS_GATE[title] / seconds
        print(f"  {title} {seconds:6.2f} s   upstream's own gate / ours {ratio:6.1f} x")


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
        env = {**os.environ, "KUBECONFIG": str(Path(folder) / "config")}
        try:
            measure_up(env)
            measure_pods(env)
            measure_memory(env)
        finally:
            winkube(env, "down", "--name", NAME)
