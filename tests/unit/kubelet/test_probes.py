"""Probes of a running pod, and the counting behind them."""

from collections.abc import Callable
from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.kubelet.probe.verdict import Tally, Thresholds, count

Pods = Callable[..., JsonObject]
FAST = {"exec": {"command": ["check"]}, "periodSeconds": 0.02}


async def test_readiness_follows_its_probe(node: Any, pod_of: Pods) -> None:
    answer = {"code": 1}
    node.cri.exec_results["main"] = lambda command: (answer["code"], "not yet")
    probe = {**FAST, "failureThreshold": 1}
    async with node.up():
        node.create(pod_of(containers=[{"name": "main", "readinessProbe": probe}]))
        await node.until_phase("Running")
        await node.until(lambda: "Unhealthy" in node.events())
        assert node.condition("Ready") == "False"
        assert node.event_text("Unhealthy") == "Readiness probe failed: not yet"
        answer["code"] = 0
        await node.until(lambda: node.condition("Ready") == "True")
        answer["code"] = 1
        await node.until(lambda: node.condition("Ready") == "False")
        assert node.container()["restartCount"] == 0


async def test_a_failed_liveness_probe_restarts_the_container(node: Any, pod_of: Pods) -> None:
    answer = {"code": 1}
    node.cri.exec_results["main"] = lambda command: (answer["code"], "dead")
    async with node.up():
        node.create(pod_of(containers=[{"name": "main", "livenessProbe": FAST}]))
        await node.until(lambda: "Killing" in node.events())
        answer["code"] = 0
        await node.until(lambda: node.container().get("restartCount") == 1)
        assert node.event_text("Killing") == (
            "Container main failed liveness probe, will be restarted"
        )


async def test_the_probe_that_failed_says_how_long_the_end_may_take(
    node: Any, pod_of: Pods
) -> None:
    node.cri.exec_results["main"] = lambda command: (1, "dead")
    main = {
        "name": "main",
        "startupProbe": {**FAST, "failureThreshold": 1, "terminationGracePeriodSeconds": 7},
        "livenessProbe": {**FAST, "terminationGracePeriodSeconds": 3},
    }
    async with node.up():
        node.create(pod_of(containers=[main]))
        await node.until(lambda: any(method == "StopContainer" for method, _ in node.cri.calls))
    graces = [request.timeout for method, request in node.cri.calls if method == "StopContainer"]
    assert graces[0] == 7


async def test_a_probe_of_an_impossible_host_fails_alone(node: Any, pod_of: Pods) -> None:
    probe = {"tcpSocket": {"host": "a..b", "port": 1}, "periodSeconds": 0.02}
    async with node.up():
        node.create(pod_of(containers=[{"name": "main", "readinessProbe": probe}]))
        await node.until(lambda: "Unhealthy" in node.events())
        assert node.event_text("Unhealthy").endswith("lookup: no such host")


async def test_a_startup_probe_holds_the_others_back(node: Any, pod_of: Pods) -> None:
    asked: list[str] = []
    answer = {"start": 1}

    def check(command: list[str]) -> tuple[int, str]:
        asked.append(command[0])
        return answer.get(command[0], 0), ""

    node.cri.exec_results["main"] = check
    main = {
        "name": "main",
        "startupProbe": {**FAST, "exec": {"command": ["start"]}, "failureThreshold": 1000},
        "readinessProbe": {**FAST, "exec": {"command": ["ready"]}},
    }
    async with node.up():
        node.create(pod_of(containers=[main]))
        await node.until(lambda: asked.count("start") > 2)
        assert "ready" not in asked
        assert not node.container()["started"]
        answer["start"] = 0
        await node.until(lambda: node.condition("Ready") == "True")
        assert node.container()["started"]


async def test_a_ready_pod_stays_ready_over_a_kubelet_restart(node: Any, pod_of: Pods) -> None:
    answer = {"code": 0}
    node.cri.exec_results["main"] = lambda command: (answer["code"], "")
    probe = {"exec": {"command": ["x"]}, "periodSeconds": 30, "failureThreshold": 2}
    async with node.up():
        node.create(pod_of(containers=[{"name": "main", "readinessProbe": probe}]))
        await node.until(lambda: node.condition("Ready") == "True")
    answer["code"] = 1
    node.new_engine()
    async with node.up():
        await node.until(lambda: "Unhealthy" in node.events())
        assert node.condition("Ready") == "True"


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ([True], None),
        ([True, True], True),
        ([True, True, False, False], True),
        ([True, True, False, False, False], False),
        ([False, False, True, False], None),
    ],
)
def test_a_verdict_turns_after_enough_outcomes_in_a_row(
    outcomes: list[bool], verdict: bool | None
) -> None:
    tally = Tally()
    for outcome in outcomes:
        tally = count(tally, ok=outcome, limits=Thresholds(success=2, failure=3))
    assert tally.verdict is verdict
