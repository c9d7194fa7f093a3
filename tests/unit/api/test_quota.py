"""What objects cost against a quota, and how amounts add up."""

from typing import Any

import pytest

from winkube.api.quota.amounts import add, amounts, exceeded, growth, show, to_json
from winkube.api.quota.evaluators import evaluator_for
from winkube.api.quota.names import is_extended, is_extended_in_quota, is_standard_in_quota
from winkube.api.quota.pod import pod_amounts, spec_amounts
from winkube.base.clock import to_rfc3339

NOW = 1_000_000.0


def container(name: str = "c", **resources: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "resources": resources}


def pod(*containers: dict[str, Any], **parts: Any) -> dict[str, Any]:
    spec = {"containers": list(containers), **parts.pop("spec", {})}
    return {"metadata": {}, "spec": spec, **parts}


def usage(resource: str, obj: dict[str, Any]) -> dict[str, str]:
    evaluator = evaluator_for(resource)
    assert evaluator is not None
    return to_json(evaluator.usage(obj, NOW))


def test_a_sum_keeps_the_family_of_its_first_part() -> None:
    one = amounts({"memory": "512Mi", "cpu": "1500m"})
    assert to_json(add(one, amounts({"memory": "512M", "cpu": "0.5"}))) == {
        "cpu": "2",
        "memory": "1024288Ki",
    }
    assert to_json(add(amounts({"memory": "0"}), amounts({"memory": "1Gi"}))) == {"memory": "1Gi"}


def test_growth_is_never_negative() -> None:
    new, old = amounts({"cpu": "1", "pods": "1"}), amounts({"cpu": "2", "memory": "1Gi"})
    assert to_json(growth(new, old)) == {"cpu": "0", "memory": "0", "pods": "1"}


def test_what_is_exceeded_is_shown_in_order() -> None:
    found = amounts({"pods": "3", "cpu": "2", "memory": "1"})
    over = exceeded(found, amounts({"cpu": "1", "pods": "2", "memory": "1"}))
    assert sorted(over) == ["cpu", "pods"]
    assert show(found) == "cpu=2,memory=1,pods=3"


def test_sidecars_add_and_other_init_containers_take_turns() -> None:
    spec = pod(
        container(requests={"cpu": "100m"}),
        spec={
            "initContainers": [
                container("i", requests={"cpu": "300m"}),
                {**container("s", requests={"cpu": "1"}), "restartPolicy": "Always"},
                container("j", requests={"cpu": "500m"}),
            ]
        },
    )["spec"]
    assert to_json(spec_amounts(spec, "requests")) == {"cpu": "1500m"}


def test_overhead_adds_to_requests_and_to_limits_that_are_set() -> None:
    obj = pod(
        container(requests={"cpu": "1"}, limits={"cpu": "2"}),
        spec={"overhead": {"cpu": "250m", "memory": "10Mi"}},
    )
    assert to_json(pod_amounts(obj, "requests")) == {"cpu": "1250m", "memory": "10Mi"}
    assert to_json(pod_amounts(obj, "limits")) == {"cpu": "2250m"}


def test_a_pod_level_resource_replaces_the_containers() -> None:
    obj = pod(container(requests={"cpu": "1"}), spec={"resources": {"requests": {"cpu": "3"}}})
    assert to_json(pod_amounts(obj, "requests")) == {"cpu": "3"}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], "2"),
        ([{"type": "PodResizePending", "reason": "Infeasible"}], "1500m"),
        ([{"type": "PodResizePending", "reason": "Deferred"}], "2"),
    ],
)
def test_a_pod_that_is_resized_takes_the_most_of_what_may_be(
    conditions: list[dict[str, str]], expected: str
) -> None:
    status = {
        "name": "c",
        "resources": {"requests": {"cpu": "1"}},
        "allocatedResources": {"cpu": "1500m"},
    }
    obj = pod(
        container(requests={"cpu": "2"}),
        status={"containerStatuses": [status], "conditions": conditions},
    )
    assert to_json(pod_amounts(obj, "requests")) == {"cpu": expected}


def test_pods_are_charged_for_every_name_of_a_resource() -> None:
    gpu = {"example.com/gpu": "2"}
    obj = pod(container(requests={"cpu": "1", **gpu}, limits={"memory": "1Gi", **gpu}))
    assert usage("pods", obj) == {
        "count/pods": "1",
        "cpu": "1",
        "limits.memory": "1Gi",
        "pods": "1",
        "requests.cpu": "1",
        "requests.example.com/gpu": "2",
    }


def test_a_pod_that_ended_is_only_an_object() -> None:
    obj = pod(container(requests={"cpu": "1"}), status={"phase": "Failed"})
    assert usage("pods", obj) == {"count/pods": "1"}


@pytest.mark.parametrize(("seconds", "counted"), [(20, True), (40, False)])
def test_a_pod_that_should_be_gone_is_only_an_object(seconds: float, counted: bool) -> None:
    obj = pod(container())
    obj["metadata"] = {
        "deletionTimestamp": to_rfc3339(NOW - seconds),
        "deletionGracePeriodSeconds": 30,
    }
    assert ("pods" in usage("pods", obj)) is counted


def test_node_ports_of_a_load_balancer_may_be_left_out() -> None:
    ports: list[dict[str, int]] = [{"port": 80, "nodePort": 30080}, {"port": 81}]
    spec = {"type": "LoadBalancer", "ports": ports}
    assert usage("services", {"spec": spec})["services.nodeports"] == "2"
    without = {"spec": {**spec, "allocateLoadBalancerNodePorts": False}}
    assert usage("services", without)["services.nodeports"] == "1"
    assert usage("services", {"spec": {"ports": ports}})["services.nodeports"] == "0"


def test_a_claim_is_charged_in_whole_bytes_and_by_what_is_allocated() -> None:
    claim = {
        "spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "1.5"}}},
        "status": {"allocatedResources": {"storage": "1"}},
    }
    found = usage("persistentvolumeclaims", claim)
    assert found["requests.storage"] == "2"
    assert found["gold.storageclass.storage.k8s.io/requests.storage"] == "2"
    claim["status"] = {"allocatedResources": {"storage": "3Gi"}}
    assert usage("persistentvolumeclaims", claim)["requests.storage"] == "3Gi"


def test_devices_are_charged_by_class_at_their_most() -> None:
    exact = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}
    everything = {"deviceClassName": "nic", "allocationMode": "All"}
    either = [exact, {**exact, "count": 5}]
    requests = [{"exactly": exact}, {"exactly": everything}, {"firstAvailable": either}]
    claim = {"spec": {"devices": {"requests": requests}}}
    assert usage("resourceclaims.resource.k8s.io", claim) == {
        "count/resourceclaims.resource.k8s.io": "1",
        "gpu.deviceclass.resource.k8s.io/devices": "7",
        "nic.deviceclass.resource.k8s.io/devices": "32",
    }


def test_any_kind_can_be_counted_except_events() -> None:
    assert usage("deployments.apps", {}) == {"count/deployments.apps": "1"}
    assert evaluator_for("events") is None
    assert evaluator_for("events.events.k8s.io") is None


def test_names_of_resources() -> None:
    assert is_extended("example.com/gpu")
    assert not is_extended("kubernetes.io/gpu")
    assert not is_extended("cpu")
    assert is_extended_in_quota("requests.example.com/gpu")
    assert is_standard_in_quota("requests.hugepages-2Mi")
    assert not is_standard_in_quota("storage")
