import random
from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.scheduler.decision import Decider
from winkube.scheduler.profile import default_profile
from winkube.scheduler.shape import PodInfo, ShapeCache
from winkube.scheduler.world import World

SHAPES = ShapeCache()
ZONE = "topology.kubernetes.io/zone"
IMAGES = [{"names": ["example.com/big:1"], "sizeBytes": 700 * 1024 * 1024}]


def node(name: str, dice: random.Random) -> JsonObject:
    labels = {"kubernetes.io/hostname": name}
    if dice.random() < 0.8:
        labels[ZONE] = dice.choice("abc")
    if dice.random() < 0.3:
        labels["disk"] = "ssd"
    if dice.random() < 0.1:
        del labels["kubernetes.io/hostname"]
    effects = ("PreferNoSchedule", "NoSchedule")
    taints = [{"key": "k", "effect": dice.choice(effects)}] if dice.random() < 0.3 else []
    amounts = {"cpu": f"{dice.randint(1, 6)}", "memory": f"{dice.randint(1, 8)}Gi", "pods": "12"}
    status = {"allocatable": amounts, "images": IMAGES if dice.random() < 0.3 else []}
    spec = {"taints": taints, "unschedulable": dice.random() < 0.1}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}


def pod(name: str, dice: random.Random) -> PodInfo:
    app = dice.choice(("x", "y", "z"))
    requests = {"cpu": f"{dice.choice((0, 100, 300, 700))}m", "memory": "100Mi"}
    image = dice.choice(("example.com/big:1", "example.com/small:1"))
    container = {"name": "c", "image": image, "resources": {"requests": requests}}
    spec: dict[str, Any] = {"containers": [container], "priority": dice.choice((0, 10))}
    if dice.random() < 0.3:
        spec["tolerations"] = [{"operator": "Exists"}]
    if dice.random() < 0.3:
        ssd = {"key": "disk", "operator": "In", "values": ["ssd"]}
        preferred = [{"weight": 5, "preference": {"matchExpressions": [ssd]}}]
        name_of_list = "preferredDuringSchedulingIgnoredDuringExecution"
        spec["affinity"] = {"nodeAffinity": {name_of_list: preferred}}
    elif dice.random() < 0.2:
        spec["nodeSelector"] = {"disk": "ssd"}
    metadata: JsonObject = {"name": name, "namespace": "default", "uid": name}
    metadata["labels"] = {"app": app}
    if dice.random() < 0.2:
        metadata["deletionTimestamp"] = "2025-01-01T00:00:00Z"
    return SHAPES.pod({"metadata": metadata, "spec": spec})


def change(world: World, dice: random.Random, number: int) -> None:
    """Something else happens between two decisions."""
    placed = [each.key for each in world.pods()]
    happening = dice.random()
    if happening < 0.2 and placed:
        world.displace(dice.choice(placed))
    elif happening < 0.3:
        world.set_node(node(f"n{dice.randrange(15)}", dice))
    elif happening < 0.35:
        world.remove_node(f"n{dice.randrange(15)}")
    elif happening < 0.5:
        world.nominate(pod(f"guest{number % 4}", dice), f"n{dice.randrange(15)}")


@pytest.mark.parametrize("few", [0, 2, 1000])
@pytest.mark.parametrize("seed", range(6))
def test_fast_path_decides_as_a_look_at_every_node(seed: int, few: int) -> None:
    dice = random.Random(seed)
    world = World()
    world.spreading.services = lambda namespace: [
        {"spec": {"selector": {"app": app}}} for app in ("x", "y")
    ]
    for number in range(15):
        world.set_node(node(f"n{number}", dice))
    decider = Decider(default_profile(), world, few=few, tie_break=lambda: 0.0)
    for number in range(120):
        wanted = pod(f"p{number}", dice)
        # A decider that remembers nothing and looks at all nodes with all rules.
        fresh = Decider(default_profile(), world, tie_break=lambda: 0.0)
        cycle = fresh.cycle(wanted)
        fitting = [each for each in world.nodes.values() if cycle.check(each) is None]
        expected = fresh.best_of(cycle, sorted(fitting, key=lambda each: each.name))
        assert decider.choose(wanted) == expected, number
        if expected is not None:
            world.place(wanted, expected)
        change(world, dice, number)
