"""What a node admits changes with its object in the API."""

from collections.abc import Callable
from typing import Any

from winkube.base.types import JsonObject
from winkube.client.resource import NODES

Pods = Callable[..., JsonObject]
CARD = "example.com/card"


async def test_a_label_that_a_user_gave_counts_at_once(node: Any, pod_of: Pods) -> None:
    async with node.up():
        await node.api.patch(NODES, "lin-1", {"metadata": {"labels": {"colour": "blue"}}})
        node.create(pod_of(nodeSelector={"colour": "blue"}))
        await node.until_phase("Running")


async def test_a_taint_that_a_user_gave_counts(node: Any, pod_of: Pods) -> None:
    async with node.up():
        taint = {"key": "gone", "effect": "NoExecute"}
        await node.api.patch(NODES, "lin-1", {"spec": {"taints": [taint]}})
        node.create(pod_of())
        await node.until_phase("Failed")
        assert node.status()["reason"] == "TaintToleration"


async def test_an_extended_resource_is_counted_where_the_node_has_it(
    node: Any, pod_of: Pods
) -> None:
    def wanting(name: str, amount: str) -> JsonObject:
        resources = {"requests": {CARD: amount}, "limits": {CARD: amount}}
        return pod_of(name, containers=[{"name": "main", "resources": resources}])

    async with node.up():
        node.create(wanting("anywhere", "5"))
        await node.until_phase("Running", "anywhere")
        status = {"status": {"allocatable": {CARD: "6"}, "capacity": {CARD: "6"}}}
        await node.api.patch(NODES, "lin-1", status, subresource="status")
        node.create(wanting("fits", "1"))
        await node.until_phase("Running", "fits")
        node.create(wanting("greedy", "1"))
        await node.until_phase("Failed", "greedy")
        assert node.status("greedy")["reason"] == f"OutOf{CARD}"


async def test_a_port_of_all_addresses_is_taken_for_each(node: Any, pod_of: Pods) -> None:
    def listening(name: str, address: str, number: int) -> JsonObject:
        ports = [{"containerPort": 80, "hostPort": number, "hostIP": address}]
        return pod_of(name, containers=[{"name": "main", "ports": ports}])

    async with node.up():
        node.create(listening("all", "", 8080))
        await node.until_phase("Running", "all")
        node.create(listening("other", "127.0.0.1", 8081))
        await node.until_phase("Running", "other")
        node.create(listening("one", "127.0.0.1", 8080))
        await node.until_phase("Failed", "one")
        assert node.status("one")["reason"] == "NodePorts"
