"""Read a kubelet's /metrics/resource: the figures at one moment, by container."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_LINE: Final = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)(?: (\d+))?")
_LABEL: Final = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
_ESCAPE: Final = re.compile(r"\\(.)")
_CPU: Final = "cpu_usage_seconds_total"
_MEMORY: Final = "memory_working_set_bytes"
_START: Final = "container_start_time_seconds"
_NANO: Final = 10**9
_MOST: Final = 2**53
_LATEST: Final = 253_402_300_799_000  # ms: the last moment that has a date

PodKey = tuple[str, str]  # namespace, name


@dataclass(slots=True)
class Point:
    """Nanoseconds and bytes; ``at`` and ``started`` are nanoseconds since the epoch."""

    at: int = 0
    cpu: int = -1
    memory: int = -1
    started: int = 0

    @property
    def complete(self) -> bool:
        return self.at > 0 and self.cpu >= 0 and self.memory > 0


@dataclass(slots=True)
class Scrape:
    node: Point = field(default_factory=Point)
    pods: dict[PodKey, dict[str, Point]] = field(default_factory=dict)


def parse_scrape(text: str, now: float) -> Scrape:
    """``now`` (s) is for figures that do not say their moment."""
    scrape = Scrape()
    for name, labels, value, at in _samples(text):
        if name in ("node_" + _CPU, "node_" + _MEMORY):
            point = scrape.node
        elif name in ("container_" + _CPU, "container_" + _MEMORY, _START):
            pod = scrape.pods.setdefault((labels["namespace"], labels["pod"]), {})
            point = pod.setdefault(labels["container"], Point())
        else:
            continue
        if name == _START:
            point.started = int(value * _NANO)
            continue
        if name.endswith(_CPU):
            point.cpu = round(value * _NANO)
        else:
            point.memory = int(value)
        point.at = at or int(now * _NANO)
    return scrape


def _samples(text: str) -> Iterator[tuple[str, dict[str, str], float, int]]:
    for line in text.splitlines():
        match = None if line.startswith("#") else _LINE.fullmatch(line)
        if match is None:
            continue
        labels = {key: _ESCAPE.sub(_unescape, raw) for key, raw in _LABEL.findall(match[2] or "")}
        value, at = float(match[3]), int(match[4] or 0)
        # A node says what it likes: infinity, or more than there is, is no figure.
        if 0 <= value < _MOST and at < _LATEST:
            yield match[1], labels, value, at * 1_000_000


def _unescape(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
