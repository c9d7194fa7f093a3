"""More ranges of cluster addresses: what they give, and what keeps them."""

from typing import Any

from tests.upstream.scenario import Scenario, Step
from tests.upstream.steps import gone, look, make, pause, remove, until
from tests.upstream.workloads.shapes import is_ready, service

Json = Any


def range_of(name: str, *cidrs: str) -> Json:
    return {"kind": "ServiceCIDR", "metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}}


def ready(name: str) -> list[Step]:
    """Ready, and known to the API server that gives addresses."""
    return [until("ServiceCIDR", name, is_ready), pause(2)]


def held(name: str) -> Step:
    return until("ServiceCIDR", name, lambda obj: not is_ready(obj))


def at(name: str, address: str) -> Json:
    return service(name, clusterIP=address)


SCENARIOS = [
    Scenario(
        "ranges: kept by an address",
        [
            make(range_of("{ns}-a", "203.0.113.0/28")),
            *ready("{ns}-a"),
            make(at("web", "203.0.113.9"), at("edge", "203.0.113.15"), at("out", "203.0.113.16")),
            look("used"),
            remove("ServiceCIDR", "{ns}-a"),
            held("{ns}-a"),
            make(at("late", "203.0.113.8")),
            look("held"),
            remove("Service", "web"),
            gone("ServiceCIDR", "{ns}-a"),
        ],
        also=("ServiceCIDR",),
        last=True,
    ),
    Scenario(
        "ranges: one in another",
        [
            make(range_of("{ns}-a", "198.51.100.0/24"), range_of("{ns}-b", "198.51.100.0/28")),
            *ready("{ns}-a"),
            *ready("{ns}-b"),
            make(at("web", "198.51.100.3")),
            remove("ServiceCIDR", "{ns}-b"),
            gone("ServiceCIDR", "{ns}-b"),
            look("covered"),
            remove("ServiceCIDR", "{ns}-a"),
            held("{ns}-a"),
            remove("Service", "web"),
            gone("ServiceCIDR", "{ns}-a"),
        ],
        also=("ServiceCIDR",),
        last=True,
    ),
    Scenario(
        "ranges: let go for a new one",
        [
            make(range_of("{ns}-a", "192.0.2.0/28")),
            *ready("{ns}-a"),
            make(at("web", "192.0.2.3")),
            remove("ServiceCIDR", "{ns}-a"),
            held("{ns}-a"),
            make(range_of("{ns}-b", "192.0.2.0/26")),
            gone("ServiceCIDR", "{ns}-a"),
            make(at("more", "192.0.2.50")),
            look("after"),
            remove("Service", "web"),
            remove("Service", "more"),
            remove("ServiceCIDR", "{ns}-b"),
            gone("ServiceCIDR", "{ns}-b"),
        ],
        also=("ServiceCIDR",),
        last=True,
    ),
]
