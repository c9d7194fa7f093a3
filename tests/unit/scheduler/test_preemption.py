import functools
from typing import Any

from winkube.base.types import JsonObject
from winkube.scheduler.cycle import Cycle
from winkube.scheduler.decision import Decider
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.preemption import Outcome, Preemption
from winkube.scheduler.profile import default_profile
from winkube.scheduler.shape import PodInfo, ShapeCache
from winkube.scheduler.world import World

SHAPES = ShapeCache()
PROFILE = default_profile()


def node(name: str, cpu: str = "2", **labels: str) -> JsonObject:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, **labels}
    return {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}


def pod(name: str, cpu: str, priority: int = 0, **facts: Any) -> PodInfo:
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "labels": facts.pop("labels", {}),
    }
    status = {"startTime": facts.pop("start", "2025-01-01T00:00:00Z")}
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], "priority": priority, **facts}
    return SHAPES.pod({"metadata": metadata, "spec": spec, "status": status})


def world_of(*nodes: JsonObject, **placed: list[PodInfo]) -> World:
    world = World()
    for each in nodes:
        world.set_node(each)
    for name, pods in placed.items():
        for guest in pods:
            world.place(guest, name)
    return world


def preempt(world: World, wanted: PodInfo) -> Outcome:
    decider = Decider(PROFILE, world)
    assert decider.choose(wanted) is None
    before = {name: sorted(n.pods) for name, n in world.nodes.items()}
    used = {name: (n.requested.copy(), dict(n.priorities)) for name, n in world.nodes.items()}
    why = decider.diagnose(wanted)
    found = Preemption(PROFILE, world).run(lambda: decider.cycle(wanted), wanted, why)
    assert {name: sorted(n.pods) for name, n in world.nodes.items()} == before
    assert {name: (n.requested, n.priorities) for name, n in world.nodes.items()} == used
    return found


def victims(outcome: Outcome) -> list[str]:
    return [each.uid for each in outcome.victims]


def budget(app: str, allowed: int) -> JsonObject:
    return {
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_as_few_as_possible_go_and_the_least_important_first() -> None:
    low, mid = pod("low", "1", 1), pod("mid", "1", 5)
    outcome = preempt(world_of(node("a"), a=[low, mid]), pod("vip", "1", 10))
    assert (outcome.nominate, victims(outcome)) == ("a", ["low"])


def test_pods_of_the_same_priority_stay() -> None:
    outcome = preempt(world_of(node("a"), a=[pod("p", "2", 10)]), pod("q", "1", 10))
    assert outcome.nominate == ""
    assert outcome.message == (
        "no new claims to deallocate, preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )


def test_a_pod_may_decline_to_preempt() -> None:
    world = world_of(node("a"), a=[pod("p", "2")])
    outcome = preempt(world, pod("q", "1", 10, preemptionPolicy="Never"))
    assert outcome.nominate is None
    assert outcome.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_node_that_is_too_small_is_not_tried() -> None:
    outcome = preempt(world_of(node("a"), a=[pod("p", "1")]), pod("q", "3", 10))
    assert outcome.message.endswith("1 Preemption is not helpful for scheduling.")


def test_what_is_short_even_without_the_victims_is_said() -> None:
    world = world_of(node("a"), a=[pod("low", "1"), pod("high", "1", 20)])
    outcome = preempt(world, pod("q", "2", 10))
    assert outcome.message.endswith("preemption: 0/1 nodes are available: 1 Insufficient cpu.")


def test_node_where_no_budget_is_violated_is_better() -> None:
    world = world_of(
        node("a"), node("b"),
        a=[pod("kept", "2", 1, labels={"app": "kept"})],
        b=[pod("p", "1", 5), pod("q", "1", 5)],
    )  # fmt: skip
    world.budgets = lambda: [budget("kept", 0)]
    assert preempt(world, pod("vip", "2", 10)).nominate == "b"
    world.budgets = lambda: [budget("kept", 1)]
    assert preempt(world, pod("vip", "2", 10)).nominate == "a"


def test_pods_of_a_violated_budget_are_spared_on_the_same_node() -> None:
    kept = pod("kept", "1", 1, labels={"app": "kept"})
    world = world_of(node("a"), a=[kept, pod("other", "1", 5)])
    world.budgets = lambda: [budget("kept", 0)]
    assert victims(preempt(world, pod("vip", "1", 10))) == ["other"]


def test_order_of_nodes_lowest_top_priority_then_sum_then_count_then_youngest() -> None:
    by_top = world_of(node("a"), node("b"), a=[pod("p", "2", 5)], b=[pod("q", "2", 3)])
    assert preempt(by_top, pod("vip", "2", 10)).nominate == "b"
    by_sum = world_of(
        node("a"), node("b"), a=[pod("p", "2", 5)], b=[pod("q", "1", 5), pod("r", "1", 1)]
    )
    assert preempt(by_sum, pod("vip", "2", 10)).nominate == "a"
    old, young = "2025-01-01T00:00:00Z", "2025-02-01T00:00:00Z"
    by_start = world_of(
        node("a"), node("b"), a=[pod("p", "2", 5, start=old)], b=[pod("q", "2", 5, start=young)]
    )
    assert preempt(by_start, pod("vip", "2", 10)).nominate == "b"


def test_anti_affinity_to_a_lesser_pod_is_resolved() -> None:
    term = {
        "labelSelector": {"matchLabels": {"app": "x"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world = world_of(node("a"), a=[pod("p", "1", labels={"app": "x"}), pod("q", "100m")])
    outcome = preempt(world, pod("vip", "1", 10, affinity=apart))
    assert victims(outcome) == ["p"]


def test_what_helps_nobody_may_help_another_of_the_same_needs() -> None:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "shunned"}},
    }
    required = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    important = pod("important", "1", priority=10, affinity=required)
    world = world_of(node("n1"), n1=[important, pod("lesser", "1")])
    decider, preemption = Decider(PROFILE, world), Preemption(PROFILE, world)
    for label, victims in (("shunned", []), ("other", ["lesser"])):
        wanted = pod(label, "1", priority=5, labels={"app": label})
        why = decider.diagnose(wanted)
        outcome = preemption.run(functools.partial(decider.cycle, wanted), wanted, why)
        assert [victim.name for victim in outcome.victims] == victims


def test_promised_room_is_kept_from_lesser_pods_only() -> None:
    world = world_of(node("a"))
    decider = Decider(PROFILE, world)
    vip = pod("vip", "2", 10)
    world.nominate(vip, "a")
    assert decider.choose(pod("low", "1", 1)) is None
    assert decider.choose(pod("same", "1", 10)) is None
    assert decider.choose(pod("higher", "1", 11)) == "a"
    assert decider.choose(vip) == "a"
    world.nominate(vip, "")
    assert decider.choose(pod("low", "1", 1)) == "a"


def test_no_more_victims_are_sent_away_while_the_first_are_leaving() -> None:
    leaving = pod("p", "2")
    world = world_of(node("a"), node("b"), a=[leaving], b=[pod("q", "2")])
    vip = pod("vip", "2", 10)
    world.nominate(vip, "a")
    assert preempt(world, vip).nominate in ("a", "b")
    leaving.terminating = leaving.preempted = True
    outcome = preempt(world, vip)
    assert outcome.nominate is None
    assert outcome.message.endswith(
        "preemption: not eligible due to a terminating pod on the nominated node."
    )


def test_a_share_of_many_nodes_is_enough() -> None:
    nodes = [node(f"n{number}") for number in range(300)]
    placed = {f"n{number}": [pod(f"p{number}", "2")] for number in range(300)}
    world = world_of(*nodes, **placed)
    decider = Decider(PROFILE, world)
    asked: list[str] = []
    wanted = pod("vip", "2", 10)

    class Counting(Cycle):
        def remove(self, pod: PodInfo, node: NodeInfo) -> None:
            asked.append(node.name)
            super().remove(pod, node)

    why = decider.diagnose(wanted)
    cycle = Counting(wanted, world, PROFILE.filters)
    assert Preemption(PROFILE, world).run(lambda: cycle, wanted, why).victims
    assert len(set(asked)) == 100
