from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.scheduler.cycle import Cycle
from winkube.scheduler.plugins.node_resources import (
    MOST,
    RATIO,
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
    Strategy,
)
from winkube.scheduler.shape import PodInfo, ShapeCache
from winkube.scheduler.world import World

SHAPES = ShapeCache()
MEBIBYTE = 1024 * 1024


def container(cpu: str = "", **more: Any) -> JsonObject:
    requests = {"cpu": cpu} if cpu else {}
    return {"name": "c", "resources": {"requests": requests}, **more}


def pod(*containers: JsonObject, **spec: Any) -> PodInfo:
    metadata = {"name": "p", "namespace": "default", "uid": "p"}
    return SHAPES.pod({"metadata": metadata, "spec": {"containers": list(containers), **spec}})


def resized(asked: str, has: str, kept: str) -> PodInfo:
    status = {"name": "c", "resources": {"requests": {"cpu": has}}}
    status["allocatedResources"] = {"cpu": kept}
    metadata = {"name": "p", "namespace": "default", "uid": "p"}
    spec = {"containers": [container(asked)]}
    return SHAPES.pod(
        {"metadata": metadata, "spec": spec, "status": {"containerStatuses": [status]}}
    )


@pytest.mark.parametrize(
    ("found", "cpu"),
    [
        (pod(container("1"), container("500m")), 1500),
        (pod(container("1"), initContainers=[container("3")]), 3000),
        (pod(container("1"), initContainers=[container("1", restartPolicy="Always")]), 2000),
        (
            pod(
                container("1"),
                initContainers=[container("1", restartPolicy="Always"), container("2500m")],
            ),
            3500,
        ),
        (
            pod(
                container("1"),
                initContainers=[container("2500m"), container("1", restartPolicy="Always")],
            ),
            2500,
        ),
        (pod(container("1"), overhead={"cpu": "250m"}), 1250),
        (pod(container("1"), resources={"requests": {"cpu": "3"}}), 3000),
        (pod(container("1"), resources={"requests": {"cpu": "3"}}, overhead={"cpu": "1"}), 4000),
        (resized("1", "2", "1500m"), 2000),
        (resized("3", "2", "1500m"), 3000),
    ],
)
def test_what_a_pod_takes_up(found: PodInfo, cpu: int) -> None:
    assert found.shape.requests["cpu"] == cpu


@pytest.mark.parametrize(
    ("found", "weight"),
    [
        (pod(container()), (100, 200)),
        (pod(container("1"), container()), (1100, 400)),
        (pod(container("1"), initContainers=[container("50m"), container()]), (1000, 200)),
        (pod(container(), resources={"requests": {"cpu": "3"}}), (3000, 200)),
    ],
)
def test_what_a_pod_weighs(found: PodInfo, weight: tuple[int, int]) -> None:
    shape = found.shape
    assert (shape.weight_cpu, shape.weight_memory // MEBIBYTE) == weight


def scores(plugin: NodeResourcesFit | NodeResourcesBalancedAllocation, cpu: str) -> int:
    world = World()
    amounts = {"cpu": "4", "memory": "4Gi", "pods": "9", "example.com/gpu": "4"}
    world.set_node({"metadata": {"name": "n"}, "status": {"allocatable": amounts}})
    requests = {"cpu": cpu, "memory": "1Gi", "example.com/gpu": "1"}
    wanted = pod({"name": "c", "resources": {"requests": requests}})
    return plugin.score(Cycle(wanted, world, ()), world.nodes["n"])


def test_strategies() -> None:
    assert scores(NodeResourcesFit(), "2") == (50 + 75) // 2
    assert scores(NodeResourcesFit(Strategy(MOST)), "2") == (50 + 25) // 2
    three = (("cpu", 2), ("memory", 1), ("example.com/gpu", 1))
    assert scores(NodeResourcesFit(Strategy(MOST, three)), "2") == (100 + 25 + 25) // 4
    curve = Strategy(RATIO, three, ((0, 0), (50, 10), (100, 0)))
    assert scores(NodeResourcesFit(curve), "2") == round((200 + 50 + 50) / 4)
    # A resource that scores nothing does not count at all.
    assert scores(NodeResourcesFit(curve), "4") == 50


def test_balance() -> None:
    assert scores(NodeResourcesBalancedAllocation(), "1") == 100
    assert scores(NodeResourcesBalancedAllocation(), "3") == 75
    three = (("cpu", 1), ("memory", 1), ("example.com/gpu", 1))
    assert scores(NodeResourcesBalancedAllocation(three), "3") == 76


def test_ignored_extended_resources() -> None:
    world = World()
    world.set_node({"metadata": {"name": "n"}, "status": {"allocatable": {"pods": "9"}}})
    wanted = pod({"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}})
    cycle, place = Cycle(wanted, world, ()), world.nodes["n"]
    refused = NodeResourcesFit().filter(cycle, place)
    assert refused is not None
    assert refused.reasons == ("Insufficient example.com/gpu",)
    assert not refused.resolvable
    ignoring = NodeResourcesFit(ignored=frozenset(("example.com/gpu",)))
    assert ignoring.filter(cycle, place) is None
    assert NodeResourcesFit(ignored_groups=frozenset(("example.com",))).filter(cycle, place) is None
