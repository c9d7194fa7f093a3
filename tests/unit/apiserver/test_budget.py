from typing import Any

import pytest

from winkube.api.errors import ApiError
from winkube.apiserver.subresource.budget import is_covered, may_go_free, spend
from winkube.base.types import JsonObject


def budget(policy: str | None = None, **status: Any) -> JsonObject:
    spec = {} if policy is None else {"unhealthyPodEvictionPolicy": policy}
    return {
        "metadata": {"name": "b", "generation": 1},
        "spec": spec,
        "status": {"observedGeneration": 1, **status},
    }


def pod(phase: str = "Running", *, ready: bool = True) -> JsonObject:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {"metadata": {}, "status": {"phase": phase, "conditions": [condition]}}


def refusal(subject: JsonObject) -> ApiError:
    with pytest.raises(ApiError) as caught:
        spend(subject, "p", "now")
    return caught.value


def test_spending_counts_down_and_notes_the_pod() -> None:
    subject = budget(disruptionsAllowed=1)
    spend(subject, "p", "now")
    assert subject["status"]["disruptionsAllowed"] == 0
    assert subject["status"]["disruptedPods"] == {"p": "now"}
    assert subject["status"]["conditions"][0]["reason"] == "InsufficientPods"


def test_empty_budget_refuses_in_upstreams_words() -> None:
    error = refusal(budget(disruptionsAllowed=0, desiredHealthy=3, currentHealthy=2))
    assert error.code == 429
    assert str(error) == "Cannot evict pod as it would violate the pod's disruption budget."
    cause = error.details["causes"][0]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"] == "The disruption budget b needs 3 healthy pods and has 2 currently"


def test_budget_the_controller_has_not_seen_refuses_for_a_while() -> None:
    error = refusal(budget(observedGeneration=0, disruptionsAllowed=5))
    assert (error.code, error.details["retryAfterSeconds"]) == (429, 10)
    said = error.details["causes"][0]["message"]
    assert said == "The disruption budget b is still being processed by the server."


def test_too_many_unconfirmed_evictions_are_forbidden() -> None:
    pending = {str(number): "now" for number in range(2001)}
    assert refusal(budget(disruptionsAllowed=1, disruptedPods=pending)).code == 403


@pytest.mark.parametrize(
    ("phase", "covered"), [("Running", True), ("Pending", False), ("Failed", False)]
)
def test_only_working_pods_are_covered(phase: str, covered: bool) -> None:
    assert is_covered(pod(phase)) is covered


def test_sick_pod_goes_free_when_enough_others_are_well() -> None:
    enough: dict[str, Any] = {"desiredHealthy": 2, "currentHealthy": 2}
    assert may_go_free(budget(**enough), pod(ready=False))
    assert not may_go_free(budget(**enough), pod())
    assert not may_go_free(budget(desiredHealthy=3, currentHealthy=2), pod(ready=False))
    assert may_go_free(budget("AlwaysAllow", desiredHealthy=3), pod(ready=False))
