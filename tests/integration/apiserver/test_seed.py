"""What a cluster cannot do without comes back."""

from typing import Any

from tests.e2e.harness import eventually

SERVICE = "/api/v1/namespaces/default/services/kubernetes"


def test_the_kubernetes_service_comes_back_with_its_address(api: Any) -> None:
    address = api("GET", SERVICE).body["spec"]["clusterIP"]
    assert api("DELETE", SERVICE).status == 200
    eventually(lambda: api("GET", SERVICE).status == 200, seconds=10)
    assert api("GET", SERVICE).body["spec"]["clusterIP"] == address


def test_system_namespaces_may_not_be_deleted(api: Any) -> None:
    answer = api("DELETE", "/api/v1/namespaces/kube-system")
    assert answer.status == 403
    assert answer.message.endswith("this namespace may not be deleted")


def test_the_range_of_service_addresses_is_an_object(api: Any) -> None:
    path = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
    found = api("GET", path).body
    assert found["spec"] == {"cidrs": ["10.96.0.0/12"]}
    (condition,) = found["status"]["conditions"]
    assert condition.pop("lastTransitionTime")
    assert condition == {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
