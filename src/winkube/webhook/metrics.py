"""Counters of the webhook, for /metrics."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._reviews = Counter(
            "winkube_webhook_reviews",
            "Reviews by what was asked and answered.",
            ("path", "answer"),
            registry=self._registry,
        )
        self._warnings = Counter(
            "winkube_webhook_warnings",
            "Warnings by rule.",
            ("rule",),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "winkube_webhook_review_duration_seconds",
            "Time to answer a review.",
            ("path",),
            buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5),
            registry=self._registry,
        )

    def count(self, path: str, answer: str, seconds: float) -> None:
        self._reviews.labels(path, answer).inc()
        self._seconds.labels(path).observe(seconds)

    def warned(self, line: str) -> None:
        rule, found, _ = line.partition(":")
        # Rules are few and ours; what else a line begins with is not.
        self._warnings.labels(rule if found and rule.startswith("WIN-") else "other").inc()

    def render(self) -> bytes:
        return generate_latest(self._registry)
