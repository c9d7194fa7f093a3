"""The /metrics/resource document: what a metrics server scrapes.

Every figure carries the moment it was taken at: a rate is the difference of two of them.
"""

from collections.abc import Iterator
from typing import Final

from winkube.kubelet.server.view import ContainerUsage, NodeUsage, Usage

_CPU: Final = (
    "cpu_usage_seconds_total",
    "counter",
    "Cumulative cpu time consumed by the {} in core-seconds",
)
_MEMORY: Final = ("memory_working_set_bytes", "gauge", "Current working set of the {} in bytes")
_START: Final = (
    "container_start_time_seconds",
    "Start time of the container since unix epoch in seconds",
)
_ERROR: Final = (
    "resource_scrape_error",
    "1 if there was an error while getting container metrics, 0 otherwise",
)

Series = list[tuple[str, Usage]]


def render_resource_metrics(usage: NodeUsage) -> str:
    """Prometheus text, metrics in the order of their names."""
    containers = [(_container_labels(each), each.usage) for each in usage.containers]
    lines = [
        *_cpu("container", containers),
        *_memory("container", containers),
        *_head(_START[0], _START[1], "gauge"),
        *(f"{_START[0]}{{{_container_labels(c)}}} {c.started:.9e}" for c in usage.containers),
        *_cpu("node", [("", usage.node)]),
        *_memory("node", [("", usage.node)]),
        *_cpu("pod", _by_pod(usage)),
        *_memory("pod", _by_pod(usage)),
        *_head(_ERROR[0], _ERROR[1], "gauge"),
        f"{_ERROR[0]} 0",
        "",
    ]
    return "\n".join(lines)


def _cpu(level: str, series: Series) -> Iterator[str]:
    name, kind, text = _CPU
    yield from _head(f"{level}_{name}", text.format(level), kind)
    for labels, usage in series:
        yield f"{level}_{name}{_braced(labels)} {usage.cpu_ns / 1e9:.9f} {_millis(usage)}"


def _memory(level: str, series: Series) -> Iterator[str]:
    name, kind, text = _MEMORY
    yield from _head(f"{level}_{name}", text.format(level), kind)
    for labels, usage in series:
        yield f"{level}_{name}{_braced(labels)} {usage.working_set} {_millis(usage)}"


def _head(name: str, text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} [STABLE] {text}"
    yield f"# TYPE {name} {kind}"


def _by_pod(usage: NodeUsage) -> Series:
    sums: dict[str, Usage] = {}
    for each in usage.containers:
        labels = f'namespace="{_escaped(each.namespace)}",pod="{_escaped(each.pod)}"'
        before, own = sums.get(labels, Usage(0.0, 0, 0)), each.usage
        sums[labels] = Usage(
            max(before.at, own.at), before.cpu_ns + own.cpu_ns, before.working_set + own.working_set
        )
    return list(sums.items())


def _container_labels(each: ContainerUsage) -> str:
    container, namespace, pod = map(_escaped, (each.container, each.namespace, each.pod))
    return f'container="{container}",namespace="{namespace}",pod="{pod}"'


def _millis(usage: Usage) -> int:
    return int(usage.at * 1000)


def _braced(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
