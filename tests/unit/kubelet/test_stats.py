"""What the kubelet tells about usage, from a runtime that was asked."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winkube.base.types import JsonObject
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.stats import StatsReader
from winkube.testing.fake_clock import FakeClock
from winkube.wire import cri

NANO = 10**9


@dataclass
class Runtime:
    stats: list[Any] = field(default_factory=list)

    async def call(self, method: str, request: Any, *, timeout: float | None = None) -> Any:
        if method == "ListContainerStats":
            return cri.ListContainerStatsResponse(stats=self.stats)
        return cri.ListPodSandboxStatsResponse()


@dataclass
class Holder:
    pod: JsonObject
    status: JsonObject


def container(name: str, at: float, cpu: float, memory: int) -> Any:
    labels = {"io.kubernetes.pod.uid": "u1", "io.kubernetes.container.name": name}
    return cri.ContainerStats(
        attributes=cri.ContainerAttributes(id=f"{name}-id", labels=labels),
        cpu=cri.CpuUsage(
            timestamp=int(at * NANO),
            usage_core_nano_seconds=cri.UInt64Value(value=int(cpu * NANO)),
        ),
        memory=cri.MemoryUsage(
            timestamp=int(at * NANO), working_set_bytes=cri.UInt64Value(value=memory)
        ),
    )


def reader(tmp_path: Path, runtime: Runtime) -> StatsReader:
    config = KubeletConfig(
        node_name="lin-1",
        os="linux",
        node_ip="127.0.0.1",
        cri_socket=tmp_path / "cri.sock",
        root_dir=tmp_path,
        pod_logs_dir=tmp_path,
        cert_file=tmp_path / "a",
        key_file=tmp_path / "b",
        client_ca_file=tmp_path / "c",
        cgroup_parent="/winkube-nowhere/test/pods",
    )
    return StatsReader(config, runtime, FakeClock(now=1000.0))


HOLDER = Holder(
    {"metadata": {"name": "web", "namespace": "default", "uid": "u1"}},
    {
        "startTime": "1970-01-01T00:15:00Z",
        "containerStatuses": [
            {"name": "main", "state": {"running": {"startedAt": "1970-01-01T00:15:05Z"}}}
        ],
    },
)


async def test_usage_has_the_exact_moment_and_the_start_of_each_container(tmp_path: Path) -> None:
    runtime = Runtime([container("main", 999.25, 1.5, 4096)])
    usage = await reader(tmp_path, runtime).usage([HOLDER])
    (main,) = usage.containers
    assert (main.namespace, main.pod, main.container) == ("default", "web", "main")
    assert (main.usage.at, main.usage.cpu_ns, main.usage.working_set) == (999.25, 1.5 * NANO, 4096)
    assert main.started == 905.0
    assert usage.node.cpu_ns > 0
    assert usage.node.working_set > 0


async def test_the_summary_tells_when_a_container_started_not_when_it_was_looked_at(
    tmp_path: Path,
) -> None:
    runtime = Runtime([container("main", 999.0, 1.5, 4096)])
    summary = await reader(tmp_path, runtime).summary([HOLDER])
    (main,) = summary["pods"][0]["containers"]
    assert main["startTime"] == "1970-01-01T00:15:05Z"
    assert main["cpu"]["time"] == "1970-01-01T00:16:39Z"


async def test_a_container_that_has_ended_is_not_counted(tmp_path: Path) -> None:
    ended = container("main", 999.0, 0.0, 0)
    usage = await reader(tmp_path, Runtime([ended])).usage([HOLDER])
    assert usage.containers == ()


async def test_rates_come_from_two_looks_where_the_runtime_has_none(tmp_path: Path) -> None:
    runtime = Runtime([container("main", 990.0, 1.0, 4096)])
    stats = reader(tmp_path, runtime)
    await stats.summary([HOLDER])
    runtime.stats = [container("main", 1000.0, 6.0, 4096)]
    summary = await stats.summary([HOLDER])
    assert summary["pods"][0]["cpu"]["usageNanoCores"] == NANO // 2
