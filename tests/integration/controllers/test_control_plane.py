import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.integration.controllers.control_plane import control_plane, node

from winkube.api.errors import NotFoundError
from winkube.base.clock import SystemClock, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import (
    CONFIGMAPS,
    DEPLOYMENTS,
    ENDPOINTSLICES,
    NAMESPACES,
    NODES,
    PODS,
    REPLICASETS,
    SERVICEACCOUNTS,
    SERVICES,
    Resource,
)
from winkube.client.rest import ApiClient, PatchType
from winkube.testing.tasks import running

LABELS = {"app": "iis"}


def deployment(image: str = "iis:1", replicas: int = 3) -> JsonObject:
    spec = {"containers": [{"name": "iis", "image": image, "ports": [{"containerPort": 80}]}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "iis"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": spec},
        },
    }


async def until(holds: Callable[[], Awaitable[object]], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - only the server knows
            await asyncio.sleep(0.02)


async def items(client: ApiClient, resource: Resource, **options: str) -> list[JsonObject]:
    found: list[JsonObject] = (await client.list(resource, **options))["items"]  # type: ignore[arg-type]
    return found


async def play_kubelet(client: ApiClient) -> None:
    """Pods that have a node run at once; pods told to stop are gone at once."""
    address = 1
    while True:
        for pod in await items(client, PODS):
            name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
            try:
                if pod["metadata"].get("deletionTimestamp"):
                    options = {"gracePeriodSeconds": 0}
                    await client.delete(PODS, name, namespace=namespace, options=options)
                elif pod["spec"].get("nodeName") and not pod["status"].get("podIP"):
                    address += 1
                    await _start(client, name, namespace, f"10.244.0.{address}")
            except NotFoundError:
                continue
        await asyncio.sleep(0.02)


async def _start(client: ApiClient, name: str, namespace: str, address: str) -> None:
    since = to_rfc3339(SystemClock().now())
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": since}
    status = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [ready],
    }
    await client.patch(
        PODS,
        name,
        {"status": status},
        namespace=namespace,
        subresource="status",
        patch_type=PatchType.STRATEGIC,
    )


async def _all_take_pods(client: ApiClient) -> bool:
    """New nodes are tainted until the controllers have seen that they are ready."""
    return not any(each["spec"].get("taints") for each in await items(client, NODES))


async def test_deployment_rolls_out_scales_and_is_collected(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client, running(play_kubelet(client)):
        for name in ("win-1", "win-2"):
            await client.create(NODES, node(name))
        await until(lambda: _all_take_pods(client))
        await client.create(DEPLOYMENTS, deployment(), namespace="default")
        port = {"port": 80, "targetPort": 80}
        service = {"metadata": {"name": "iis"}, "spec": {"selector": LABELS, "ports": [port]}}
        await client.create(SERVICES, service, namespace="default")

        async def available(count: int, image: str) -> bool:
            found = await client.get(DEPLOYMENTS, "iis", namespace="default")
            status = found.get("status", {})
            pods = await items(client, PODS, namespace="default")
            return (
                status.get("availableReplicas") == status.get("updatedReplicas") == count
                and status.get("observedGeneration") == found["metadata"]["generation"]
                and [pod["spec"]["containers"][0]["image"] for pod in pods] == [image] * count
            )

        await until(lambda: available(3, "iis:1"))
        placed = {pod["spec"]["nodeName"] for pod in await items(client, PODS)}
        assert placed == {"win-1", "win-2"}

        async def endpoints() -> int:
            label = "kubernetes.io/service-name=iis"
            slices = await items(client, ENDPOINTSLICES, namespace="default", label_selector=label)
            return sum(
                bool(each["conditions"]["ready"])
                for slice_ in slices
                for each in slice_.get("endpoints") or ()
            )

        await until(lambda: _equals(endpoints(), 3))
        await client.update(
            DEPLOYMENTS,
            {
                **(await client.get(DEPLOYMENTS, "iis", namespace="default")),
                "spec": deployment("iis:2")["spec"],
            },
        )
        await until(lambda: available(3, "iis:2"))
        await client.patch(DEPLOYMENTS, "iis", {"spec": {"replicas": 6}}, namespace="default")
        await until(lambda: available(6, "iis:2"))
        assert len(await items(client, REPLICASETS, namespace="default")) == 2
        await until(lambda: _equals(endpoints(), 6))
        await _expect_silence(client)
        options = {"propagationPolicy": "Foreground"}
        await client.delete(DEPLOYMENTS, "iis", namespace="default", options=options)
        await client.delete(SERVICES, "iis", namespace="default")

        async def left() -> int:
            kinds = (DEPLOYMENTS, REPLICASETS, PODS)
            found = [await items(client, each, namespace="default") for each in kinds]
            return sum(len(each) for each in found) + await endpoints()

        await until(lambda: _equals(left(), 0))


async def _expect_silence(client: ApiClient) -> None:
    """A settled cluster writes nothing: no controller undoes what another one does."""

    async def revision() -> str:
        return str((await client.list(NODES))["metadata"]["resourceVersion"])

    await asyncio.sleep(1.0)
    # The server registers its own groups a while after it began: that is waited for.
    async with asyncio.timeout(60):
        before = ""
        while before != (now := await revision()):
            before = now
            await asyncio.sleep(2.0)


async def _equals(number: Awaitable[int], wanted: int) -> bool:
    return await number == wanted


async def test_namespace_is_furnished_and_emptied(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        await client.create(NAMESPACES, {"metadata": {"name": "team"}})

        async def furnished() -> bool:
            try:
                await client.get(SERVICEACCOUNTS, "default", namespace="team")
                await client.get(CONFIGMAPS, "kube-root-ca.crt", namespace="team")
            except NotFoundError:
                return False
            return True

        await until(furnished)
        await client.delete(NAMESPACES, "team")

        async def gone() -> bool:
            try:
                await client.get(NAMESPACES, "team")
            except NotFoundError:
                return True
            return False

        await until(gone)


async def test_nodes_get_pod_networks(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        for number in range(5):
            await client.create(NODES, node(f"n{number}"))

        async def networks() -> int:
            found = await items(client, NODES)
            return len({each.get("spec", {}).get("podCIDR") for each in found} - {None})

        await until(lambda: _equals(networks(), 5))
