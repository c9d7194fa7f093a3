from typing import Any

from winkube.testing.tasks import eventually

PATH = "/apis/networking.k8s.io/v1"


def test_the_range_of_services_is_an_object(api: Any) -> None:
    found = api("GET", f"{PATH}/servicecidrs/kubernetes").body
    assert found["spec"]["cidrs"] == ["10.96.0.0/12"]
    [condition] = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Ready", "True")


async def test_an_address_object_lives_as_long_as_its_service(api: Any, space: str) -> None:
    services = f"/api/v1/namespaces/{space}/services"
    spec = {"ports": [{"port": 80}]}
    made = api("POST", services, {"metadata": {"name": "web"}, "spec": spec}).body
    path = f"{PATH}/ipaddresses/{made['spec']['clusterIP']}"
    await eventually(lambda: api("GET", path).status == 200)
    found = api("GET", path).body
    parent = {"resource": "services", "namespace": space, "name": "web"}
    assert found["spec"]["parentRef"] == parent
    assert found["metadata"]["labels"] == {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    api("DELETE", f"{services}/web")
    await eventually(lambda: api("GET", path).status == 404)
