"""Counters of the API server, for /metrics: names and labels as upstream's."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from winkube.apiserver.cache import Cache
from winkube.apiserver.target import Target


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("verb", "group", "version", "resource", "subresource")
        self._requests = Counter(
            "apiserver_request", "Requests by verb and resource.", labels, registry=self._registry
        )
        self._seconds = Histogram(
            "apiserver_request_duration_seconds",
            "Time to answer, watches excepted.",
            ("verb",),
            registry=self._registry,
        )
        self._objects = Gauge(
            "apiserver_storage_objects", "Objects stored.", ("resource",), registry=self._registry
        )
        self._watchers = Gauge(
            "apiserver_longrunning_requests", "Watches.", ("resource",), registry=self._registry
        )

        self._known: dict[tuple[str, ...], tuple[Counter, Histogram]] = {}

    def count(self, verb: str, target: Target, elapsed: float) -> None:
        counter, seconds = self._children(verb, target)
        counter.inc()
        if verb != "watch":
            seconds.observe(elapsed)

    def _children(self, verb: str, target: Target) -> tuple[Counter, Histogram]:
        """Looking up labels costs more than counting does."""
        key = (verb, target.group, target.version, target.resource, target.subresource)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = (self._requests.labels(*key), self._seconds.labels(verb))
        return known

    def render(self, cache: Cache) -> bytes:
        for resource in cache.resources():
            name = resource.prefix.removeprefix("/registry/").rstrip("/")
            self._objects.labels(name).set(len(resource))
            self._watchers.labels(name).set(resource.watchers)
        return generate_latest(self._registry)
