"""Single scheduling decisions, without a server: how their cost grows.

With the number of pods there are, and for preemption with the number of nodes. Processor time, so
that other work on the machine does not count. Run as ``python -m bench.decisions``.
"""

import functools
import sys
import time
from typing import Any

from bench.schedule import node


def _placed(world: Any, shapes: Any, nodes: int, pods: int) -> None:
    """Nodes with pods of 200 controllers on them, spread evenly."""
    for number in range(nodes):
        world.set_node(node(number))
    world.spreading.find = lambda owner, namespace: {
        "spec": {"selector": {"matchLabels": {"app": owner[2]}}}
    }
    for number in range(pods):
        made = shapes.pod(_owned(f"old-{number}", f"app-{number % 200}"))
        # Every node gets as many, and the pods of a controller are on different nodes.
        world.place(made, f"node-{(number + number // nodes) % nodes}")


def _owned(name: str, app: str, **spec: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app}
    requests = {"cpu": "100m", "memory": "128Mi"}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "labels": {"app": app, "tier": "web"},
        "ownerReferences": [{**owner, "controller": True}],
    }
    containers = [{"name": "c", "image": "example.com/a:1", "resources": {"requests": requests}}]
    return {"metadata": metadata, "spec": {"containers": containers, **spec}}


_HOST = "kubernetes.io/hostname"
_SELECTOR = {"matchLabels": {"app": "app-7"}}
_TERM = {"topologyKey": _HOST, "labelSelector": _SELECTOR}
_SPREAD = {"topologyKey": _HOST, "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 5}
_APART = {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    # Whose pods they are, and what else they say.
    "pods of one controller": ("app-7", {}),
    "pods of 200 controllers": ("app-{}", {}),
    "pods of new controllers": ("own-{}", {}),
    "with a spread constraint": (
        "app-7",
        {"topologySpreadConstraints": [{**_SPREAD, "labelSelector": _SELECTOR}]},
    ),
    "with anti-affinity": ("own-{}", {"affinity": {"podAntiAffinity": _APART}}),
}


def _decision(pods: int, case: str, times: int = 420) -> float:
    """Microseconds of one decision among so many pods, once every group has been met."""
    from winkube.scheduler.decision import Decider
    from winkube.scheduler.profile import default_profile
    from winkube.scheduler.shape import ShapeCache
    from winkube.scheduler.world import World

    world, shapes = World(), ShapeCache()
    _placed(world, shapes, 1000, pods)
    decider = Decider(default_profile(), world)
    app, spec = CASES[case]
    new = app.startswith("own")
    wanted = [
        shapes.pod(_owned(f"new-{n}", app.format(n if new else n % 200), **spec))
        for n in range(times)
    ]
    for each in wanted[:220]:
        world.place(each, decider.choose(each) or "")
    began = time.process_time()
    for each in wanted[220:]:
        world.place(each, decider.choose(each) or "")
    return (time.process_time() - began) / (times - 220) * 1e6


def _preemption(nodes: int, times: int = 10) -> float:
    """Milliseconds to choose the victims on so many full nodes."""
    from winkube.scheduler.decision import Decider
    from winkube.scheduler.preemption import Preemption
    from winkube.scheduler.profile import default_profile
    from winkube.scheduler.shape import ShapeCache
    from winkube.scheduler.world import World

    world, shapes, profile = World(), ShapeCache(), default_profile()
    _placed(world, shapes, nodes, nodes * 110)
    decider, preemption = Decider(profile, world), Preemption(profile, world)
    taken = 0.0
    for number in range(times):
        vip = shapes.pod(_owned(f"vip-{number}", f"vip-{number}", priority=1000))
        began = time.process_time()
        if decider.choose(vip) is None:
            why = decider.diagnose(vip)
            outcome = preemption.run(functools.partial(decider.cycle, vip), vip, why)
            world.nominate(vip, outcome.nominate or "")
        taken += time.process_time() - began
    return taken / times * 1e3


def main() -> int:
    few, many = 1_000, 20_000
    print(f"one decision, 1,000 nodes     {few:>8} pods {many:>8} pods    growth")
    for case in CASES:
        small, large = _decision(few, case), _decision(many, case)
        print(f"  {case:<26} {small:10.0f} us {large:10.0f} us {large / small:8.2f} x")
    small, large = _preemption(100), _preemption(1000)
    print("preemption, 110 pods a node        100 nodes    1000 nodes")
    print(f"  {'choice of victims':<26} {small:10.1f} ms {large:10.1f} ms {large / small:8.2f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
