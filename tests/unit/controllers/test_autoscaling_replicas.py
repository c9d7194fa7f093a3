"""How many replicas a metric asks for: the examples of upstream's documentation and its rules."""

import pytest

from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.controllers.autoscaling.errors import MetricError
from winkube.controllers.autoscaling.replicas import (
    Situation,
    Timing,
    Tolerances,
    average_replicas,
    group_pods,
    per_pod_replicas,
    pod_requests,
    ratio_replicas,
    utilization_replicas,
)
from winkube.controllers.autoscaling.usage import Usage, container_usages, pod_usages

NOW = 1_000_000.0
OLD = NOW - 3600


def pod(
    number: int,
    *,
    request: str = "100m",
    phase: str = "Running",
    ready: str = "True",
    started: float = OLD,
    changed: float = OLD + 60,
) -> JsonObject:
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": to_rfc3339(changed)}
    container = {"name": "main", "resources": {"requests": {"cpu": request, "memory": "1Gi"}}}
    return {
        "metadata": {"name": f"p{number}"},
        "spec": {"containers": [container]},
        "status": {"phase": phase, "startTime": to_rfc3339(started), "conditions": [condition]},
    }


def usages(*millis: int, at: float = NOW - 5) -> dict[str, Usage]:
    return {f"p{number}": Usage(value, at, 15.0) for number, value in enumerate(millis)}


def situation(replicas: int, pods: list[JsonObject], tolerance: float = 0.1) -> Situation:
    return Situation(replicas, pods, Timing(NOW), Tolerances(tolerance, tolerance))


@pytest.mark.parametrize(
    ("used", "target", "replicas"),
    [
        # "if the current metric value is 200m and the desired value is 100m, the number of
        # replicas will be doubled, since 200.0 / 100.0 == 2.0; if 50m, halved".
        ((200, 200), 100, 4),
        ((50, 50), 100, 1),
        # Within the tolerance of 0.1 nothing is done; at its edge neither.
        ((105, 105), 100, 2),
        ((110, 110), 100, 2),
        ((90, 90), 100, 2),
        ((111, 111), 100, 3),
        ((89, 89), 100, 2),
    ],
)
def test_the_ratio_of_usage_to_target(used: tuple[int, ...], target: int, replicas: int) -> None:
    found, _ = average_replicas(situation(2, [pod(0), pod(1)]), usages(*used), "cpu", target)
    assert found == replicas


def test_utilization_is_a_percentage_of_what_was_requested() -> None:
    pods = [pod(0, request="1"), pod(1, request="1"), pod(2, request="1")]
    found = utilization_replicas(situation(3, pods), usages(300, 500, 700), "cpu", 30)
    assert (found.replicas, found.percent, found.average) == (5, 50, 500)


def test_pods_without_a_figure_count_as_idle_on_the_way_up() -> None:
    pods = [pod(0, request="1"), pod(1, request="1"), pod(2, request="1")]
    found = utilization_replicas(situation(3, pods), usages(1000, 1000), "cpu", 50)
    # Two of three use 100 %: with the third at nothing it is 66 % of 50 %, so 4 and not 6.
    assert found.replicas == 4


def test_pods_without_a_figure_count_as_full_on_the_way_down() -> None:
    pods = [pod(0, request="1"), pod(1, request="1"), pod(2, request="1"), pod(3, request="1")]
    found = utilization_replicas(situation(4, pods), usages(100, 100, 100), "cpu", 80)
    # 300 m + one whole of 4: 32 % of 80 %, so 2 and not 1.
    assert found.replicas == 2


def test_a_guess_never_turns_the_direction_round() -> None:
    pods = [pod(0, request="1"), pod(1, request="1"), pod(2, request="1")]
    found = utilization_replicas(situation(3, pods), usages(600), "cpu", 50)
    assert found.replicas == 3  # up by its figure, down with two idle ones


def test_unready_pods_are_left_out_and_damp_growth() -> None:
    pods = [pod(0, request="1"), pod(1, request="1", ready="False", started=NOW - 30)]
    found = utilization_replicas(situation(2, pods), usages(1000, 1000), "cpu", 60)
    # 100 % on the ready one; with the other at nothing 50 %, so no change.
    assert found.replicas == 2
    assert found.percent == 100


@pytest.mark.parametrize(
    ("made", "counted"),
    [
        (pod(0), "ready"),
        (pod(0, phase="Pending"), "unready"),
        (pod(0, phase="Failed"), "ignored"),
        # Starting: its figure has to cover a whole window after it became ready.
        (pod(0, started=NOW - 60, changed=NOW - 25), "ready"),
        (pod(0, started=NOW - 60, changed=NOW - 10), "unready"),
        # Long there: only one that was never ready does not count.
        (pod(0, ready="False", changed=OLD + 10), "unready"),
        (pod(0, ready="False", changed=NOW - 60), "ready"),
    ],
)
def test_whose_figures_count(made: JsonObject, counted: str) -> None:
    groups = group_pods([made], usages(1), "cpu", Timing(NOW))
    found = {
        "ready": groups.ready == 1,
        "unready": groups.unready == {"p0"},
        "ignored": groups.ignored == {"p0"},
    }
    assert [name for name, true in found.items() if true] == [counted]


def test_memory_counts_whether_ready_or_not() -> None:
    groups = group_pods([pod(0, ready="False")], usages(1), "memory", Timing(NOW))
    assert groups.ready == 1


def test_nothing_can_be_said_without_pods_figures_or_requests() -> None:
    with pytest.raises(MetricError, match="no pods returned by selector"):
        average_replicas(situation(1, []), {}, "cpu", 100)
    with pytest.raises(MetricError, match="did not receive metrics for targeted pods"):
        average_replicas(situation(1, [pod(0, phase="Pending")]), usages(1), "cpu", 100)
    bare = pod(0)
    bare["spec"]["containers"][0]["resources"] = {}
    with pytest.raises(MetricError) as caught:
        utilization_replicas(situation(1, [bare]), usages(1), "cpu", 100)
    assert str(caught.value) == "missing request for cpu in container main of Pod p0"


def test_requests_of_one_container_of_lasting_ones_and_of_the_pod() -> None:
    made = pod(0)
    made["spec"]["initContainers"] = [
        {"name": "once", "resources": {}},
        {
            "name": "side",
            "restartPolicy": "Always",
            "resources": {"requests": {"cpu": "50m"}},
        },
    ]
    assert pod_requests([made], "", "cpu") == {"p0": 150}
    assert pod_requests([made], "side", "cpu") == {"p0": 50}
    made["spec"]["resources"] = {"requests": {"cpu": "1"}}
    assert pod_requests([made], "", "cpu") == {"p0": 1000}


def test_one_figure_about_the_whole() -> None:
    pods = [pod(0), pod(1), pod(2, ready="False")]
    assert ratio_replicas(situation(3, pods), 30_000, 10_000) == 6  # of the ready ones
    assert ratio_replicas(situation(3, pods), 10_500, 10_000) == 3
    assert ratio_replicas(situation(0, []), 30_000, 20_000) == 2
    assert per_pod_replicas(4, Tolerances(), 300, 50) == (6, 75)
    assert per_pod_replicas(4, Tolerances(), 205, 50) == (4, 52)


def test_usages_are_read_from_the_metrics_api() -> None:
    def item(name: str, **cpu: str | None) -> JsonObject:
        return {
            "metadata": {"name": name},
            "timestamp": "2026-01-01T00:00:10Z",
            "window": "15.5s",
            "containers": [
                {"name": key, "usage": {"cpu": value} if value else {}}
                for key, value in cpu.items()
            ],
        }

    items = [item("a", main="1500000n", side="2m"), item("b", main=None), item("c")]
    found = pod_usages(items, "cpu")
    assert found == {"a": Usage(4, 1767225610.0, 15.5)}
    assert container_usages(items, "cpu", "side") == {"a": Usage(2, 1767225610.0, 15.5)}
