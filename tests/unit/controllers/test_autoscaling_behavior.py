"""Stabilization, rates and bounds, after the examples of upstream's documentation."""

from winkube.base.types import JsonObject
from winkube.controllers.autoscaling.behavior import History, Wish, normalize

NOW = 10_000.0
PERCENT = {"type": "Percent", "value": 100, "periodSeconds": 15}
UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, PERCENT],
}
DOWN = {"selectPolicy": "Max", "policies": [PERCENT]}


def behavior(up: JsonObject | None = None, down: JsonObject | None = None) -> JsonObject:
    return {"scaleUp": {**UP, **(up or {})}, "scaleDown": {**DOWN, **(down or {})}}


def policy(kind: str, value: int, period: int = 60) -> JsonObject:
    return {"type": kind, "value": value, "periodSeconds": period}


def test_without_behaviour_growth_is_at_most_twofold_and_four_at_least() -> None:
    outcome = normalize(Wish(1, 10, 1, 20), None, History(), NOW, 300.0)
    assert (outcome.replicas, outcome.limited, outcome.limit[0]) == (4, True, "ScaleUpLimit")
    outcome = normalize(Wish(5, 30, 1, 20), None, History(), NOW, 300.0)
    assert (outcome.replicas, outcome.limit[0]) == (10, "ScaleUpLimit")
    outcome = normalize(Wish(12, 30, 1, 20), None, History(), NOW, 300.0)
    assert (outcome.replicas, outcome.limit[0]) == (20, "TooManyReplicas")


def test_without_behaviour_the_highest_wish_of_five_minutes_counts() -> None:
    history = History()
    history.begin(5, NOW)
    outcome = normalize(Wish(5, 2, 1, 10), None, history, NOW + 100, 300.0)
    assert (outcome.replicas, outcome.able[0]) == (5, "ScaleDownStabilized")
    outcome = normalize(Wish(5, 3, 1, 10), None, history, NOW + 301, 300.0)
    assert (outcome.replicas, outcome.able[0]) == (3, "ReadyForNewScale")


def test_the_bounds_hold() -> None:
    outcome = normalize(Wish(2, 0, 1, 10), behavior(), History(), NOW, 0.0)
    assert (outcome.replicas, outcome.limited, outcome.limit[0]) == (1, True, "TooFewReplicas")
    outcome = normalize(Wish(9, 12, 1, 10), behavior(), History(), NOW, 0.0)
    assert (outcome.replicas, outcome.limit[0]) == (10, "TooManyReplicas")
    outcome = normalize(Wish(3, 4, 1, 10), behavior(), History(), NOW, 0.0)
    assert (outcome.replicas, outcome.limited) == (4, False)
    assert outcome.limit == (
        "DesiredWithinRange",
        "the desired count is within the acceptable range",
    )


def test_scaling_down_by_ten_percent_or_four_pods() -> None:
    # From 80 down, the percentage allows more; from 40 down, the number of pods does.
    rules = behavior(
        down={
            "stabilizationWindowSeconds": 0,
            "policies": [policy("Pods", 4), policy("Percent", 10)],
        }
    )
    outcome = normalize(Wish(80, 10, 10, 100), rules, History(), NOW, 0.0)
    assert (outcome.replicas, outcome.limit[0]) == (72, "ScaleDownLimit")
    outcome = normalize(Wish(36, 10, 10, 100), rules, History(), NOW, 0.0)
    assert outcome.replicas == 32


def test_the_smallest_change_may_be_chosen_or_none() -> None:
    both = [policy("Pods", 4), policy("Percent", 10)]
    slow = {"stabilizationWindowSeconds": 0, "selectPolicy": "Min", "policies": both}
    outcome = normalize(Wish(80, 10, 1, 100), behavior(down=slow), History(), NOW, 0.0)
    assert outcome.replicas == 76
    off = {"stabilizationWindowSeconds": 0, "selectPolicy": "Disabled"}
    outcome = normalize(Wish(80, 10, 1, 100), behavior(down=off), History(), NOW, 0.0)
    assert outcome.replicas == 80
    outcome = normalize(Wish(10, 50, 1, 100), behavior(up={"selectPolicy": "Disabled"}),
                        History(), NOW, 0.0)  # fmt: skip
    assert outcome.replicas == 10


def test_what_was_done_within_a_period_counts_against_it() -> None:
    rules, history = behavior(up={"policies": [policy("Pods", 4)]}), History()
    outcome = normalize(Wish(1, 20, 1, 100), rules, history, NOW, 0.0)
    assert outcome.replicas == 5
    history.note_scale(rules, 1, 5, NOW)
    assert normalize(Wish(5, 20, 1, 100), rules, history, NOW + 30, 0.0).replicas == 5
    assert normalize(Wish(5, 20, 1, 100), rules, history, NOW + 61, 0.0).replicas == 9


def test_percentages_round_up_on_the_way_up_and_down_on_the_way_down() -> None:
    rules = behavior(
        up={"policies": [policy("Percent", 10)]},
        down={"stabilizationWindowSeconds": 0, "policies": [policy("Percent", 10)]},
    )
    assert normalize(Wish(3, 9, 1, 100), rules, History(), NOW, 0.0).replicas == 4
    assert normalize(Wish(3, 1, 1, 100), rules, History(), NOW, 0.0).replicas == 2


def test_windows_keep_the_lowest_wish_up_and_the_highest_down() -> None:
    rules = behavior(up={"stabilizationWindowSeconds": 60}, down={"stabilizationWindowSeconds": 30})
    history = History()
    history.begin(4, NOW)
    outcome = normalize(Wish(4, 8, 1, 100), rules, history, NOW + 10, 300.0)
    assert (outcome.replicas, outcome.able[0]) == (4, "ScaleUpStabilized")
    outcome = normalize(Wish(4, 2, 1, 100), rules, history, NOW + 35, 300.0)
    assert (outcome.replicas, outcome.able[0]) == (4, "ScaleDownStabilized")
    outcome = normalize(Wish(4, 2, 1, 100), rules, history, NOW + 45, 300.0)
    assert outcome.replicas == 2


def test_a_scale_down_window_that_is_not_set_is_the_controllers() -> None:
    history = History()
    history.begin(4, NOW)
    assert normalize(Wish(4, 1, 1, 9), behavior(), history, NOW + 200, 300.0).replicas == 4
    assert normalize(Wish(4, 1, 1, 9), behavior(), history, NOW + 301, 300.0).replicas == 1
