from collections.abc import Mapping

from winkube.api.selector.labels import LabelSelector, parse_label_selector
from winkube.base.types import JsonObject
from winkube.controllers.autoscaling.claims import Claims


class Counting(LabelSelector):
    asked = 0

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        Counting.asked += 1
        return super().matches(labels)


def pod(app: str) -> JsonObject:
    return {"metadata": {"labels": {"app": app}}}


def test_autoscalers_of_the_same_pods_are_named_and_forgotten() -> None:
    claims = Claims()
    for key in ("n/web", "n/second", "other/web"):
        claims.put(key, parse_label_selector("app=web"))
    claims.put("n/db", parse_label_selector("app in (db, queue)"))
    assert claims.on("n", [pod("web"), pod("web")]) == ["n/second", "n/web"]
    claims.put("n/second", parse_label_selector("app=db"))
    assert claims.on("n", [pod("web")]) == ["n/web"]
    assert claims.on("n", [pod("db"), pod("queue")]) == ["n/db", "n/second"]
    for key in ("n/web", "n/second", "n/db", "n/unknown"):
        claims.forget(key)
    assert claims.on("n", [pod("web")]) == []


def test_who_counts_other_pods_is_not_asked() -> None:
    claims = Claims()
    for number in range(500):
        selector = parse_label_selector(f"app=app-{number}")
        claims.put(f"n/{number}", Counting(selector.requirements))
    Counting.asked = 0
    assert claims.on("n", [pod("app-7")] * 100) == ["n/7"]
    assert Counting.asked == 1
