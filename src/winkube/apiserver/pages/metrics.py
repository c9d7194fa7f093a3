"""Counters of the API server, for /metrics: names and labels as upstream's."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from winkube.apiserver.cache import Cache
from winkube.apiserver.target import Target

_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_LABELS: Final = ("verb", "group", "version", "resource", "subresource")


class _Seconds:
    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS) + 1)
        self.total = 0.0


class _Requests(Collector):
    """Counted in one thread, without the library's locks: every request is."""

    def __init__(self) -> None:
        self.counts: defaultdict[tuple[str, ...], int] = defaultdict(int)
        self.seconds: defaultdict[str, _Seconds] = defaultdict(_Seconds)

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "apiserver_request", "Requests by verb and resource.", labels=_LABELS
        )
        for labels, count in self.counts.items():
            requests.add_metric(labels, count)
        yield requests
        seconds = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Time to answer, watches excepted.",
            labels=("verb",),
        )
        names = [*map(str, _BOUNDS), "+Inf"]
        for verb, seen in self.seconds.items():
            buckets = list(zip(names, accumulate(seen.counts), strict=True))
            seconds.add_metric((verb,), buckets, seen.total)
        yield seconds


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = _Requests()
        self._registry.register(self._requests)
        self._objects = Gauge(
            "apiserver_storage_objects", "Objects stored.", ("resource",), registry=self._registry
        )
        self._watchers = Gauge(
            "apiserver_longrunning_requests", "Watches.", ("resource",), registry=self._registry
        )

    def count(self, verb: str, target: Target, elapsed: float) -> None:
        key = (verb, target.group, target.version, target.resource, target.subresource)
        self._requests.counts[key] += 1
        if verb != "watch":
            seconds = self._requests.seconds[verb]
            seconds.counts[bisect_left(_BOUNDS, elapsed)] += 1
            seconds.total += elapsed

    def render(self, cache: Cache) -> bytes:
        for resource in cache.resources():
            name = resource.prefix.removeprefix("/registry/").rstrip("/")
            self._objects.labels(name).set(len(resource))
            self._watchers.labels(name).set(resource.watchers)
        return generate_latest(self._registry)
