from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.scheduler.decision import Decider
from winkube.scheduler.preemption import Preemption
from winkube.scheduler.profile import default_profile
from winkube.scheduler.shape import PodInfo, ShapeCache
from winkube.scheduler.world import World

SHAPES = ShapeCache()


def node(name: str, *, cpu: str = "4", pods: int = 110, **more: Any) -> JsonObject:
    labels = {"kubernetes.io/hostname": name, **more.get("labels", {})}
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": str(pods), **more.get("extra", {})}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": more.get("spec", {}),
        "status": {"allocatable": allocatable},
    }


def pod(name: str, *, owner: str = "", labels: JsonObject | None = None, **spec: Any) -> PodInfo:
    requests = {"cpu": spec.pop("cpu", "100m")}
    container = {"name": "c", "resources": {"requests": requests}, "ports": spec.pop("ports", [])}
    metadata: JsonObject = {"name": name, "namespace": "default", "uid": name}
    metadata["labels"] = labels or {}
    if owner:
        reference = {"uid": owner, "name": owner, "apiVersion": "apps/v1", "kind": "ReplicaSet"}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
        metadata["labels"] = {**metadata["labels"], "rs": owner}
    return SHAPES.pod({"metadata": metadata, "spec": {"containers": [container], **spec}})


def cluster(*nodes: JsonObject) -> tuple[World, Decider]:
    world = World()
    for each in nodes:
        world.set_node(each)
    world.spreading.find = lambda owner, namespace: {
        "spec": {"selector": {"matchLabels": {"rs": owner[2]}}}
    }
    return world, Decider(default_profile(), world, tie_break=lambda: 0.0)


def schedule(world: World, decider: Decider, *pods: PodInfo) -> list[str | None]:
    chosen = []
    for each in pods:
        name = decider.choose(each)
        chosen.append(name)
        if name is not None:
            world.place(each, name)
    return chosen


def refusal(world: World, decider: Decider, wanted: PodInfo) -> str:
    why = decider.diagnose(wanted)
    preemption = Preemption(default_profile(), world)
    return why.message(preemption.run(lambda: decider.cycle(wanted), wanted, why).message)


def test_pods_of_one_controller_spread_over_nodes() -> None:
    world, decider = cluster(node("a"), node("b"), node("c"))
    chosen = schedule(world, decider, *(pod(f"p{n}", owner="rs") for n in range(6)))
    assert sorted(map(str, chosen)) == ["a", "a", "b", "b", "c", "c"]


def test_zones_get_their_share() -> None:
    zone = "topology.kubernetes.io/zone"
    many = [node(f"a{n}", labels={zone: "a"}) for n in range(4)]
    few = [node(f"b{n}", labels={zone: "b"}) for n in range(2)]
    nodes = many + few
    world, decider = cluster(*nodes)
    chosen = schedule(world, decider, *(pod(f"p{n}", owner="rs", cpu="10m") for n in range(4)))
    assert sorted(map(str, chosen)) == ["a0", "a1", "b0", "b1"]


def test_node_selector_picks_the_operating_system() -> None:
    world, decider = cluster(
        node("lin-1", labels={"kubernetes.io/os": "linux"}),
        node("win-1", labels={"kubernetes.io/os": "windows"}),
    )
    wanted = {"kubernetes.io/os": "windows"}
    assert schedule(world, decider, pod("p", nodeSelector=wanted)) == ["win-1"]


def test_full_node_is_passed_over_and_found_again_when_a_pod_leaves() -> None:
    world, decider = cluster(node("a", pods=1), node("b", pods=1))
    first = schedule(world, decider, *(pod(f"p{n}", owner="rs") for n in range(3)))
    assert first == ["a", "b", None]
    world.displace("default/p1")
    assert schedule(world, decider, pod("p3", owner="rs")) == ["b"]


def test_new_node_is_seen_by_known_classes() -> None:
    world, decider = cluster()
    assert schedule(world, decider, pod("p", owner="rs")) == [None]
    world.set_node(node("late"))
    assert schedule(world, decider, pod("q", owner="rs")) == ["late"]
    world.remove_node("late")
    assert schedule(world, decider, pod("r", owner="rs")) == [None]


def test_cordon_takes_a_node_out_of_known_classes() -> None:
    world, decider = cluster(node("a"), node("b"))
    schedule(world, decider, pod("p", owner="rs"))
    world.set_node(node("b", spec={"unschedulable": True}))
    assert schedule(world, decider, pod("q", owner="rs")) == ["a"]


def test_host_ports_exclude_each_other() -> None:
    world, decider = cluster(node("a"), node("b"))
    ports = [{"hostPort": 80, "containerPort": 80}]
    local = [{"hostPort": 80, "hostIP": "10.0.0.1", "containerPort": 80}]
    chosen = schedule(
        world, decider, pod("p", ports=ports), pod("q", ports=local), pod("r", ports=ports)
    )
    assert chosen == ["a", "b", None]


def test_taint_needs_a_toleration() -> None:
    taint = {"key": "os", "value": "windows", "effect": "NoSchedule"}
    world, decider = cluster(node("win-1", spec={"taints": [taint]}))
    tolerations = [{"key": "os", "operator": "Equal", "value": "windows"}]
    assert schedule(world, decider, pod("p")) == [None]
    assert schedule(world, decider, pod("q", tolerations=tolerations)) == ["win-1"]


def test_init_containers_count_at_their_peak() -> None:
    init = [{"name": "i", "resources": {"requests": {"cpu": "3"}}}]
    assert pod("p", initContainers=init).shape.requests["cpu"] == 3000
    sidecar = [{**init[0], "restartPolicy": "Always"}, {"name": "j", "resources": {}}]
    assert pod("q", initContainers=sidecar).shape.requests["cpu"] == 3100


MESSAGES = [
    pytest.param(
        [node("a", cpu="1"), node("b", cpu="1"), node("c", labels={"disk": "ssd"})],
        {"cpu": "2", "nodeSelector": {"disk": "hdd"}},
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. "
        "no new claims to deallocate, preemption: 0/3 nodes are available: "
        "3 Preemption is not helpful for scheduling.",
        id="selector",
    ),
    pytest.param(
        [
            node("a", cpu="1"),
            node("b", cpu="1"),
            node("c", spec={"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}),
        ],
        {"cpu": "2"},
        "0/3 nodes are available: 1 node(s) had untolerated taint {k: v}, 2 Insufficient cpu. "
        "no new claims to deallocate, preemption: 0/3 nodes are available: "
        "3 Preemption is not helpful for scheduling.",
        id="taint and cpu",
    ),
    pytest.param([], {}, "no nodes available to schedule pods", id="no nodes"),
    pytest.param(
        [node("a", pods=0, spec={"unschedulable": True})],
        {},
        "0/1 nodes are available: 1 node(s) were unschedulable. "
        "no new claims to deallocate, preemption: "
        "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        id="cordoned",
    ),
    pytest.param(
        [node("a", pods=0)],
        {"cpu": "9"},
        "0/1 nodes are available: 1 Insufficient cpu, 1 Too many pods. "
        "no new claims to deallocate, preemption: "
        "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        id="two reasons on one node",
    ),
]


@pytest.mark.parametrize(("nodes", "needs", "message"), MESSAGES)
def test_refusal_is_said_in_upstreams_words(
    nodes: list[JsonObject], needs: JsonObject, message: str
) -> None:
    world, decider = cluster(*nodes)
    wanted = pod("p", **needs)
    assert decider.choose(wanted) is None
    assert refusal(world, decider, wanted) == message


def spread(key: str, *, skew: int = 1, when: str = "DoNotSchedule") -> list[JsonObject]:
    selector = {"matchLabels": {"app": "x"}}
    return [
        {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}
    ]


def test_hard_spreading_keeps_the_skew() -> None:
    nodes = [node("a1", labels={"zone": "a"}), node("a2", labels={"zone": "a"})]
    world, decider = cluster(*nodes, node("b1", labels={"zone": "b"}, cpu="300m"))
    pods = [pod(f"p{n}", labels={"app": "x"}, topologySpreadConstraints=spread("zone"))
            for n in range(8)]  # fmt: skip
    chosen = schedule(world, decider, *pods)
    assert chosen.count("b1") == 3
    assert chosen.count(None) == 1
    reason = "2 node(s) didn't match pod topology spread constraints"
    assert reason in decider.diagnose(pods[-1]).message()


def test_node_without_the_topology_label_is_named() -> None:
    _, decider = cluster(node("a"))
    wanted = pod("p", labels={"app": "x"}, topologySpreadConstraints=spread("zone"))
    assert "(missing required label)" in decider.diagnose(wanted).message()


def affinity(kind: str, key: str = "kubernetes.io/hostname") -> JsonObject:
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_anti_affinity_puts_one_pod_on_each_node() -> None:
    world, decider = cluster(node("a"), node("b"))
    apart = affinity("podAntiAffinity")
    pods = [pod(f"p{n}", labels={"app": "x"}, affinity=apart) for n in range(3)]
    assert schedule(world, decider, *pods) == ["a", "b", None]
    assert "2 node(s) didn't match pod anti-affinity rules" in decider.diagnose(pods[2]).message()


def test_anti_affinity_of_a_running_pod_keeps_others_away() -> None:
    world, decider = cluster(node("a"), node("b"))
    hermit = pod("hermit", labels={"app": "x"}, affinity=affinity("podAntiAffinity"))
    assert schedule(world, decider, hermit, pod("p", labels={"app": "x"})) == ["a", "b"]
    assert schedule(world, decider, pod("q", labels={"app": "y"})) == ["a"]


def test_affinity_follows_and_the_first_may_go_anywhere() -> None:
    world, decider = cluster(node("a"), node("b"))
    together = affinity("podAffinity")
    pods = [pod(f"p{n}", labels={"app": "x"}, affinity=together) for n in range(3)]
    assert schedule(world, decider, *pods) == ["a", "a", "a"]
    lonely = pod("l", labels={"app": "y"}, affinity=affinity("podAffinity", "zone"))
    assert "1 node(s)" not in decider.diagnose(lonely).message()
    assert decider.choose(lonely) is None


def test_preferred_affinity_moves_the_choice() -> None:
    world, decider = cluster(node("a"), node("b", labels={"disk": "ssd"}))
    preference = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    preferred = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "preference": preference}
            ]
        }
    }
    assert schedule(world, decider, pod("p", affinity=preferred)) == ["b"]


@pytest.mark.parametrize("few", [0, 3, 1000])
def test_fast_path_agrees_with_a_full_scan(few: int) -> None:
    world, _ = cluster(*(node(f"n{n}", cpu=f"{2 + n % 3}") for n in range(20)))
    decider = Decider(default_profile(), world, few=few, tie_break=lambda: 0.0)
    for number in range(150):
        wanted = pod(f"p{number}", owner=f"rs{number % 3}", cpu=f"{100 * (1 + number % 4)}m")
        expected = decider._scan(decider.cycle(wanted))
        assert decider.choose(wanted) == expected
        if expected is None:
            break
        world.place(wanted, expected)
        if number % 7 == 3:
            world.displace(f"default/p{number // 2}")


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        ("winkube.local/busybox", "lin-1"),
        ("docker.io/microsoft/iis:latest", "win-1"),
        ("mcr.microsoft.com/windows/servercore:ltsc2019", "win-1"),
    ],
)
def test_an_image_that_names_its_system_goes_there_even_if_it_is_busier(
    image: str, wanted: str
) -> None:
    other = {"lin-1": "win-1", "win-1": "lin-1"}[wanted]
    systems = {"lin-1": "linux", "win-1": "windows"}
    nodes = [node(name, labels={"kubernetes.io/os": system}) for name, system in systems.items()]
    world, decider = cluster(*nodes)
    for number in range(5):
        world.place(pod(f"busy-{number}", cpu="500m"), wanted)
    spec = {"containers": [{"name": "c", "image": image}]}
    asked = SHAPES.pod({"metadata": {"name": "p", "namespace": "default"}, "spec": spec})
    assert decider.choose(asked) == wanted
    plain = {"containers": [{"name": "c", "image": "example.com/any"}]}
    free = SHAPES.pod({"metadata": {"name": "q", "namespace": "default"}, "spec": plain})
    assert decider.choose(free) == other
