from winkube.base.types import JsonObject
from winkube.scheduler.budget import BudgetCache
from winkube.scheduler.shape import PodInfo, ShapeCache


def budget(allowed: int, app: str = "x", **status: JsonObject) -> JsonObject:
    return {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed, **status},
    }


def pod() -> PodInfo:
    metadata = {"name": "p", "namespace": "default", "uid": "p", "labels": {"app": "x"}}
    return ShapeCache().pod({"metadata": metadata, "spec": {"containers": []}, "status": {}})


def test_a_budget_whose_status_alone_changed_is_not_read_again() -> None:
    cache = BudgetCache()
    before = cache.now([budget(1)])
    (first,) = before.about(pod())
    after = cache.now([budget(2)])
    (second,) = after.about(pod())
    assert after is before
    assert (first is second, second.allowed) == (True, 2)
    gone = cache.now([budget(0, disruptedPods={"p": {}})])
    assert list(gone.about(pod())) == []


def test_a_budget_with_another_selector_is_another() -> None:
    cache = BudgetCache()
    before = cache.now([budget(1)])
    assert cache.now([budget(1, app="y")]) is not before
    assert list(cache.now([budget(1, app="y")]).about(pod())) == []
    assert not cache.now([])
