from winkube.apiserver.apply.owner import Held, Managers, applier, author
from winkube.apiserver.apply.scaled import parent_managers, scale_managers
from winkube.apiserver.apply.tree import Tree

SCALE = "autoscaling/v1"
REPLICAS: Tree = {"f:spec": {"f:replicas": {}}}
PARENTS: Managers = {
    author("maker", "apps/v1"): Held({"f:spec": {"f:replicas": {}, "f:x": {}}}, "t1", "apps/v1"),
    applier("m"): Held(REPLICAS, "t2", "apps/v1"),
    applier("n"): Held({"f:spec": {"f:x": {}}}, "t3", "apps/v1"),
    applier("old"): Held(REPLICAS, "t4", "no/v1"),
}


def test_owners_of_replicas_own_the_scale() -> None:
    assert scale_managers(PARENTS, "apps/v1", SCALE) == {
        author("maker", SCALE): Held(REPLICAS, "t1", SCALE),
        applier("m"): Held(REPLICAS, "t2", SCALE),
    }


def test_an_author_comes_back_from_the_scale_as_a_stranger_and_an_applier_does_not() -> None:
    scales = scale_managers(PARENTS, "apps/v1", SCALE)
    assert parent_managers(PARENTS, scales, "apps/v1") == {
        author("maker", "apps/v1"): Held({"f:spec": {"f:x": {}}}, "t1", "apps/v1"),
        applier("m"): PARENTS[applier("m")],
        applier("n"): PARENTS[applier("n")],
        author("maker", SCALE): Held(REPLICAS, "", "apps/v1"),
    }


def test_who_lost_the_scale_loses_the_replicas() -> None:
    scales: Managers = {applier("s", "scale"): Held(REPLICAS, "t9", SCALE)}
    managers = parent_managers(PARENTS, scales, "apps/v1")
    assert managers[applier("m")].fields is None
    assert managers[applier("s", "scale")] == Held(REPLICAS, "", "apps/v1")
