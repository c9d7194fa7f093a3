import asyncio

from winkube.base.types import JsonObject
from winkube.client.resource import (
    CONFIGMAPS,
    DEPLOYMENTS,
    ENDPOINTS,
    ENDPOINTSLICES,
    NAMESPACES,
    NODES,
    PODS,
    REPLICASETS,
    SERVICEACCOUNTS,
    SERVICES,
)
from winkube.controllers.config import ControllerConfig
from winkube.controllers.manager import ControllerManager
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually, running

CONFIG = ControllerConfig(root_ca=b"PEM")


def deployment(name: str, replicas: int, image: str = "iis") -> JsonObject:
    labels = {"app": name}
    spec = {"containers": [{"name": "c", "image": image}]}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


async def make_ready(api: FakeApi, address: int = 2) -> None:
    """Play the kubelet."""
    for pod in api.all(PODS):
        name = pod["metadata"]["name"]
        if pod["metadata"].get("deletionTimestamp"):
            await api.delete(PODS, name, options={"gracePeriodSeconds": 0})
        elif pod["status"].get("phase") != "Running":
            address += 1
            ready = {
                "type": "Ready",
                "status": "True",
                "lastTransitionTime": "2020-01-01T00:00:00Z",
            }
            status = {"phase": "Running", "podIP": f"10.244.1.{address}", "conditions": [ready]}
            await api.patch(PODS, name, {"status": status}, subresource="status")


async def test_deployment_becomes_pods_and_endpoints() -> None:
    api = FakeApi()
    manager = ControllerManager(api, CONFIG)
    port = {"name": "http", "port": 80, "targetPort": 8080}
    service = {"metadata": {"name": "iis"}, "spec": {"selector": {"app": "iis"}, "ports": [port]}}
    async with running(manager.run()):
        await manager.ready.wait()
        await api.create(DEPLOYMENTS, deployment("iis", 3))
        await api.create(SERVICES, service)
        await eventually(lambda: len(api.all(PODS)) == 3)
        await make_ready(api)
        await eventually(lambda: ready_count(api) == 3)
        await eventually(
            lambda: available(api, "iis") == 3 and progressing(api) == "NewReplicaSetAvailable"
        )
        (slice_,) = api.all(ENDPOINTSLICES)
        assert slice_["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
        (endpoints,) = api.all(ENDPOINTS)
        assert len(endpoints["subsets"][0]["addresses"]) == 3
        await api.patch(DEPLOYMENTS, "iis", {"spec": {"replicas": 5}})
        await eventually(lambda: len(api.all(PODS)) == 5)
        await api.patch(DEPLOYMENTS, "iis", {"spec": {"replicas": 1}})
        await eventually(lambda: len(api.all(PODS)) == 1)


def ready_count(api: FakeApi) -> int:
    return sum(
        endpoint["conditions"]["ready"]
        for slice_ in api.all(ENDPOINTSLICES)
        for endpoint in slice_["endpoints"]
    )


def available(api: FakeApi, name: str) -> int:
    found = api.find(DEPLOYMENTS, f"default/{name}") or {}
    return int(found.get("status", {}).get("availableReplicas", 0))


def progressing(api: FakeApi) -> str:
    conditions = api.all(DEPLOYMENTS)[0]["status"]["conditions"]
    return str(next(entry["reason"] for entry in conditions if entry["type"] == "Progressing"))


async def test_rollout_replaces_every_pod_and_keeps_the_old_set() -> None:
    api = FakeApi()
    manager = ControllerManager(api, CONFIG)
    async with running(manager.run()):
        await manager.ready.wait()
        await api.create(DEPLOYMENTS, deployment("web", 4))
        await eventually(lambda: len(api.all(PODS)) == 4)
        await make_ready(api)
        await eventually(lambda: available(api, "web") == 4)
        template = deployment("web", 4, image="iis:2")["spec"]["template"]
        await api.patch(DEPLOYMENTS, "web", {"spec": {"template": template}})
        async with running(keep_ready(api)):
            await eventually(lambda: images(api) == {"iis:2"} and available(api, "web") == 4)
        sizes = {
            each["spec"]["template"]["spec"]["containers"][0]["image"]: each["spec"]["replicas"]
            for each in api.all(REPLICASETS)
        }
        assert sizes == {"iis": 0, "iis:2": 4}


async def keep_ready(api: FakeApi) -> None:
    while True:
        await make_ready(api, 100)
        await asyncio.sleep(0.005)


def images(api: FakeApi) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in api.all(PODS)}


async def test_namespace_gets_its_contents_and_goes_away_with_them() -> None:
    api = FakeApi()
    manager = ControllerManager(api, CONFIG)
    async with running(manager.run()):
        await manager.ready.wait()
        await api.create(NAMESPACES, {"metadata": {"name": "team"}})
        await eventually(lambda: api.find(SERVICEACCOUNTS, "team/default"))
        await eventually(lambda: api.find(CONFIGMAPS, "team/kube-root-ca.crt"))
        await api.delete(NAMESPACES, "team")
        await eventually(lambda: api.find(NAMESPACES, "team") is None)
        assert api.find(CONFIGMAPS, "team/kube-root-ca.crt") is None


async def test_every_node_gets_its_own_pod_network() -> None:
    api = FakeApi()
    manager = ControllerManager(api, CONFIG)
    async with running(manager.run()):
        await manager.ready.wait()
        for name in ("a", "b", "c"):
            await api.create(NODES, {"metadata": {"name": name}})
        await eventually(lambda: all("podCIDR" in node.get("spec", {}) for node in api.all(NODES)))
        assert {node["spec"]["podCIDR"] for node in api.all(NODES)} == {
            "10.244.0.0/24",
            "10.244.1.0/24",
            "10.244.2.0/24",
        }
