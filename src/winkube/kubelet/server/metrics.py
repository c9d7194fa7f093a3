"""The /metrics/resource document: what the metrics server scrapes, out of the stats summary."""

from collections.abc import Iterator
from typing import Final

from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject

_CPU: Final = ("cpu_usage_seconds_total", "counter", "cpu", "usageCoreNanoSeconds", 1e-9)
_MEMORY: Final = ("memory_working_set_bytes", "gauge", "memory", "workingSetBytes", 1.0)


def render_resource_metrics(summary: JsonObject) -> str:
    """Prometheus text; a figure the summary does not have is left out."""
    pods = summary.get("pods") or []
    lines: list[str] = []
    for suffix, kind, section, key, scale in (_CPU, _MEMORY):
        for level, items in (
            ("container", _containers(pods)),
            ("node", [("", summary.get("node") or {})]),
            ("pod", [(_pod_labels(pod), pod) for pod in pods]),
        ):
            lines.append(f"# TYPE {level}_{suffix} {kind}")
            for labels, stats in items:
                figure = (stats.get(section) or {}).get(key)
                if figure is not None:
                    lines.append(f"{level}_{suffix}{_braced(labels)} {figure * scale:.9g}")
    lines.append("# TYPE container_start_time_seconds gauge")
    for labels, stats in _containers(pods):
        if started := stats.get("startTime"):
            seconds = parse_rfc3339(started)
            lines.append(f"container_start_time_seconds{_braced(labels)} {seconds:.0f}")
    lines += ["# TYPE resource_scrape_error gauge", "resource_scrape_error 0", ""]
    return "\n".join(lines)


def _containers(pods: list[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    for pod in pods:
        for container in pod.get("containers") or []:
            name = _escaped(str(container.get("name", "")))
            yield f'container="{name}",{_pod_labels(pod)}', container


def _pod_labels(pod: JsonObject) -> str:
    ref = pod.get("podRef") or {}
    namespace, name = _escaped(ref.get("namespace", "")), _escaped(ref.get("name", ""))
    return f'namespace="{namespace}",pod="{name}"'


def _braced(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
