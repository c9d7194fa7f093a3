"""Pods that say hundreds of senseless things: what others pay for them, in looks at labels."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from winkube.api.selector.label_query import Requirement
from winkube.api.selector.labels import EVERYTHING, NOTHING, LabelSelector
from winkube.api.selector.nodes import Tolerations, is_tolerated, matches_term
from winkube.base.types import JsonObject
from winkube.scheduler.budget import BudgetCache
from winkube.scheduler.decision import Decider
from winkube.scheduler.node_terms import NodeTerms
from winkube.scheduler.profile import default_profile
from winkube.scheduler.shape import PodInfo, ShapeCache
from winkube.scheduler.term_index import TermIndex
from winkube.scheduler.terms import PREFERRED, REQUIRED, Term
from winkube.scheduler.world import World

SHAPES = ShapeCache()
HOST = "kubernetes.io/hostname"
TERMS = 50


class Watched(dict[str, str]):
    """Labels that count how often somebody looks at them."""

    looks = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.looks += 1
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        self.looks += 1
        return super().__iter__()


def pod(namespace: str, name: str, **spec: Any) -> PodInfo:
    metadata: JsonObject = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"}
    metadata["labels"] = {"app": namespace}
    return SHAPES.pod({"metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}})


def world_of(nodes: int, **labels: str) -> World:
    world = World()
    for number in range(nodes):
        name = f"n-{number}"
        world.set_node(
            {
                "metadata": {"name": name, "labels": {HOST: name, **labels}},
                "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "500"}},
            }
        )
    for name in ("hostile", "side"):
        world.set_namespace(name, {"name": name})
    return world


def term(owner: int, number: int, **more: Any) -> JsonObject:
    key = f"k-{owner}-{number}"
    selector = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
    return {"topologyKey": HOST, "labelSelector": selector, **more}


def apart(owner: int, **more: Any) -> JsonObject:
    return {"podAntiAffinity": {REQUIRED: [term(owner, n, **more) for n in range(TERMS)]}}


def drawn(owner: int, **more: Any) -> JsonObject:
    wanted = [{"weight": 5, "podAffinityTerm": term(owner, n, **more)} for n in range(TERMS)]
    return {"podAffinity": {PREFERRED: wanted}}


def elsewhere(owner: int) -> JsonObject:
    never = {"matchLabels": {"no": "such"}}
    absent = {"matchExpressions": [{"key": f"k-{owner}", "operator": "DoesNotExist"}]}
    terms = [
        {"topologyKey": f"{HOST}-{n}", "labelSelector": absent, "namespaceSelector": never}
        for n in range(TERMS)
    ]
    return {"podAntiAffinity": {REQUIRED: terms}}


@pytest.mark.parametrize(
    "affinity",
    [
        lambda owner: apart(owner),
        lambda owner: apart(owner, namespaceSelector={}),
        lambda owner: drawn(owner),
        lambda owner: drawn(owner, namespaceSelector={}),
        elsewhere,
    ],
)
def test_a_bystander_does_not_look_at_terms_that_cannot_mean_it(affinity: Any) -> None:
    world = world_of(5)
    decider = Decider(default_profile(), world, tie_break=lambda: 0.0)
    looks: list[int] = []
    for round_ in range(4):
        for number in range(5):
            owner = round_ * 5 + number
            hostile = pod("hostile", f"h-{owner}", affinity=affinity(owner))
            world.place(hostile, decider.choose(hostile) or "")
        side = pod("side", f"s-{round_}")
        labels = side.labels = Watched(side.labels)
        world.place(side, decider.choose(side) or "")
        looks.append(labels.looks)
    assert looks[-1] <= looks[0] + 5, f"{looks} looks beside 5, 10, 15 and 20 hostile pods"


def test_own_terms_are_not_asked_about_every_pod_and_every_node() -> None:
    """Pods alike are looked at once for a term, nodes once for a topology key."""
    looks: list[int] = []
    for size in (10, 100):
        world = world_of(size)
        decider = Decider(default_profile(), world, tie_break=lambda: 0.0)
        others = [pod("hostile", f"o-{number}") for number in range(size)]
        labels = Watched(others[0].labels)
        for number, each in enumerate(others):
            each.labels = labels
            world.place(each, f"n-{number}")
        for node in world.nodes.values():
            node.labels = Watched(node.labels)
        before = labels.looks
        decider.choose(pod("hostile", "h", affinity=apart(size)))
        at_nodes = sum(
            n.labels.looks for n in world.nodes.values() if isinstance(n.labels, Watched)
        )
        looks.append(labels.looks - before)
        assert at_nodes <= 20 * size, f"{at_nodes} looks at {size} nodes"
    assert looks[1] <= looks[0] + 200, f"{looks} looks at the labels of 10 and of 100 pods"


def test_many_spread_constraints_ask_a_node_little() -> None:
    keys = {f"k{number}": "v" for number in range(100)}
    world = world_of(10, **keys)
    for node in world.nodes.values():
        node.labels = Watched(node.labels)
    wanted = {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}
    spread = [
        {"topologyKey": key, "whenUnsatisfiable": how, "maxSkew": 9, "labelSelector": wanted}
        for key in keys
        for how in ("DoNotSchedule", "ScheduleAnyway")
    ]
    Decider(default_profile(), world).choose(pod("hostile", "h", topologySpreadConstraints=spread))
    for node in world.nodes.values():
        assert isinstance(node.labels, Watched)
        # Some for each constraint, not for each pair of them.
        assert node.labels.looks <= 10 * len(spread)


# -- the indexes find what looking at everything finds

OPERATORS = ("in", "notin", "exists", "absent")


def a_selector(dice: random.Random) -> LabelSelector:
    if dice.random() < 0.1:
        return dice.choice((NOTHING, EVERYTHING))
    found = []
    for _ in range(dice.randint(1, 3)):
        operator = dice.choice(OPERATORS)
        count = dice.randint(1, 3) if operator in ("in", "notin") else 0
        values = frozenset(dice.choice("xyz") for _ in range(count))
        found.append(Requirement(dice.choice("abc"), operator, values))
    return LabelSelector(tuple(found))


def some_labels(dice: random.Random) -> dict[str, str]:
    return {key: dice.choice("xyz") for key in "abc" if dice.random() < 0.5}


def test_the_term_index_finds_every_term_that_matches_once() -> None:
    dice = random.Random(7)
    for _ in range(60):
        namespaces = {name: some_labels(dice) for name in ("one", "two", "three")}
        index: TermIndex[Term] = TermIndex()
        terms = [
            Term(
                HOST,
                a_selector(dice),
                frozenset(dice.sample(sorted(namespaces), dice.randint(0, 2))),
                a_selector(dice) if dice.random() < 0.5 else NOTHING,
                weight,
            )
            for weight in range(20)
        ]
        for each in terms:
            index.add(each, each)
        for gone in [terms.pop(dice.randrange(len(terms))) for _ in range(5)]:
            index.remove(gone, gone)
        for _ in range(10):
            made = pod(dice.choice(sorted(namespaces)), "p")
            made.labels = some_labels(dice)
            found = list(index.about(made.namespace, made.labels, namespaces.__getitem__))
            assert len(found) == len({each.weight for each in found})
            right = [t for t in terms if t.matches(made, namespaces.__getitem__)]
            assert {t.weight for t in right} <= {t.weight for t in found}
        for each in terms:
            index.remove(each, each)
        assert not index


def test_tolerations_say_what_each_of_them_says() -> None:
    dice = random.Random(7)
    for _ in range(2_000):
        given = [
            {
                name: dice.choice(values)
                for name, values in (
                    ("key", ("a", "b", "")),
                    ("operator", ("Exists", "Equal", "")),
                    ("value", ("x", "y", "")),
                    ("effect", ("NoSchedule", "NoExecute", "")),
                )
                if dice.random() < 0.7
            }
            for _ in range(dice.randint(0, 3))
        ]
        taint = {
            "key": dice.choice("ab"),
            "value": dice.choice(("x", "y", "")),
            "effect": dice.choice(("NoSchedule", "NoExecute", "PreferNoSchedule")),
        }
        assert Tolerations(given).tolerate(taint) == is_tolerated(given, taint), (given, taint)


def test_node_terms_say_what_each_of_them_says() -> None:
    dice = random.Random(7)
    operators = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    for _ in range(1_000):
        terms = []
        for _ in range(5):
            expressions = [
                {"key": dice.choice("abc"), "operator": dice.choice(operators), "values": ["1"]}
                for _ in range(dice.randint(0, 2))
            ]
            fields = [{"key": "metadata.name", "operator": "In", "values": ["n-1"]}]
            named = {"matchFields": fields} if dice.random() < 0.3 else {}
            terms.append({"matchExpressions": expressions, **named})
        labels = {key: dice.choice("012") for key in "abc" if dice.random() < 0.6}
        name = dice.choice(("n-1", "n-2"))
        right = [matches_term(name, labels, each) for each in terms]
        assert NodeTerms(terms).match(name, labels) == any(right)
        assert NodeTerms(terms, (1, 2, 4, 8, 16)).weight(name, labels) == sum(
            2**number for number, holds in enumerate(right) if holds
        )


def test_budgets_are_read_once_and_asked_once_about_pods_alike() -> None:
    reads = 0

    class Read(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            nonlocal reads
            reads += key == "selector"
            return super().get(key, default)

    selector = {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}
    objects: list[JsonObject] = [
        {
            "metadata": {"name": f"b-{number}", "namespace": "hostile"},
            "spec": Read(selector=selector),
            "status": {"disruptedPods": {"p-3": ""}},
        }
        for number in range(10)
    ]
    cache = BudgetCache()
    labels = Watched({"app": "hostile"})
    for _ in range(5):
        budgets = cache.now(objects)
        for number in range(20):
            victim = pod("hostile", f"p-{number}")
            victim.labels = labels
            assert len(list(budgets.about(victim))) == (0 if number == 3 else 10)
    assert reads == 10
    assert labels.looks <= 10 * 2
    assert not list(cache.now(objects).about(pod("side", "p")))
    objects[0] = {**objects[0], "spec": {"selector": {"matchLabels": {"app": "other"}}}}
    assert len(list(cache.now(objects).about(pod("hostile", "p")))) == 9
