"""Limit ranges: defaults, bounds and ratios; and what a limit range itself may say."""

from typing import Any

from tests.upstream.cases.admission_quota import WAIT, claim, container, pod
from tests.upstream.exchange import STRATEGIC, Case, Step

_RANGES = "/api/v1/namespaces/{ns}/limitranges"


def ranges(*limits: dict[str, Any], name: str = "l") -> Step:
    return Step("POST", _RANGES, {"metadata": {"name": name}, "spec": {"limits": list(limits)}})


def limit(kind: str = "Container", **fields: dict[str, str]) -> dict[str, Any]:
    return {"type": kind, **fields}


def case(name: str, limits: dict[str, Any], *steps: Step) -> Case:
    return Case(name, [ranges(limits), WAIT, *steps], managed=False)


def bad(name: str, *limits: dict[str, Any]) -> Case:
    return Case(name, [ranges(*limits)], managed=False)


CASES = [
    case(
        "defaults for containers that say nothing",
        limit(
            default={"cpu": "500m", "memory": "256Mi"},
            defaultRequest={"cpu": "100m", "memory": "64Mi"},
        ),
        pod("a"),
        pod("b", container(requests={"cpu": "200m"}), initContainers=[container("i")]),
        pod("c", container(limits={"cpu": "300m", "memory": "1Gi"})),
    ),
    case("a default that is also the request", limit(default={"cpu": "1"}), pod("a")),
    case("a maximum is also the default", limit(max={"cpu": "1"}), pod("a")),
    case("a minimum is no default", limit(min={"cpu": "1"}), pod("a")),
    case(
        "too little and too much cpu",
        limit(min={"cpu": "200m"}, max={"cpu": "1"}),
        pod("a", container(requests={"cpu": "100m"}, limits={"cpu": "500m"})),
        pod("b", container(requests={"cpu": "500m"}, limits={"cpu": "2"})),
        pod("c", container(requests={"cpu": "300m"}, limits={"cpu": "1"})),
    ),
    case(
        "several problems at once",
        limit(min={"cpu": "200m"}),
        pod("a", container("x", requests={"cpu": "1m"}), container("y", requests={"cpu": "2m"})),
        pod("b", container("x", requests={"cpu": "1m"}), container("y", requests={"cpu": "1m"})),
    ),
    case(
        "no limit where one is bounded",
        limit("Pod", max={"memory": "1Gi"}),
        pod("a", container(requests={"memory": "1Mi"})),
        pod("b", container(limits={"memory": "600Mi"}), container("d", limits={"memory": "600Mi"})),
    ),
    case(
        "a ratio that is too high",
        limit(maxLimitRequestRatio={"cpu": "2"}),
        pod("a", container(requests={"cpu": "100m"}, limits={"cpu": "300m"})),
        pod("b", container(requests={"cpu": "100m"})),
        pod("c", container()),
        pod("d", container(requests={"cpu": "100m"}, limits={"cpu": "200m"})),
    ),
    case(
        "pods as a whole",
        limit("Pod", min={"cpu": "500m"}),
        pod("a", container(requests={"cpu": "100m"})),
        pod(
            "b",
            container(requests={"cpu": "100m"}),
            initContainers=[container("i", requests={"cpu": "1"})],
        ),
        pod("c"),
    ),
    case(
        "claims",
        limit("PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "5Gi"}),
        claim("a", "500Mi", "x"),
        claim("b", "6Gi", "x"),
        claim("c", "2Gi", "x"),
    ),
    case(
        "a resize is bounded too",
        limit(max={"cpu": "1"}),
        pod("a", container(requests={"cpu": "500m"}, limits={"cpu": "1"})),
        Step(
            "PATCH",
            "/api/v1/namespaces/{ns}/pods/a/resize",
            {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]}},
            STRATEGIC,
        ),
    ),
    bad("type unknown", limit("Odd", max={"cpu": "1"})),
    bad("type twice", limit(max={"cpu": "1"}), limit(max={"cpu": "1"})),
    bad("type empty", limit("", max={"cpu": "1"})),
    bad("minimum above maximum", limit(min={"cpu": "2"}, max={"cpu": "1"})),
    bad("default request below minimum", limit(min={"cpu": "2"}, defaultRequest={"cpu": "1"})),
    bad("default request above maximum", limit(max={"cpu": "2"}, defaultRequest={"cpu": "3"})),
    bad("default request above default", limit(default={"cpu": "2"}, defaultRequest={"cpu": "3"})),
    bad("default below minimum", limit(min={"cpu": "2"}, default={"cpu": "1"})),
    bad("default above maximum", limit(max={"cpu": "1"}, default={"cpu": "2"})),
    bad("ratio below one", limit(maxLimitRequestRatio={"cpu": "500m"})),
    bad(
        "ratio above bounds",
        limit(min={"cpu": "1"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "3"}),
    ),
    bad("defaults of a pod", limit("Pod", default={"cpu": "1"}, defaultRequest={"cpu": "1"})),
    bad("a claim without bounds", limit("PersistentVolumeClaim", max={"cpu": "1"})),
    bad("a claim without anything", limit("PersistentVolumeClaim")),
    bad("a resource no container has", limit(max={"storage": "1"})),
    bad("a resource nobody has", limit(max={"foo": "1"})),
    bad(
        "no overcommitment",
        limit(default={"example.com/a": "2"}, defaultRequest={"example.com/a": "1"}),
    ),
]
