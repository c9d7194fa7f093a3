"""Node health: silent nodes become Unknown, unhealthy ones are tainted, their pods not ready.

Signs of life are judged by when *we* saw them change, so neither the clocks of nodes nor a restart
of this controller makes a healthy node look dead. When every node is silent the fault is more
likely ours (the machine slept, the server was away): nothing is evicted then.
"""

import asyncio
from typing import Final

from winkube.aio.supervise import repeat
from winkube.api.errors import ConflictError, NotFoundError
from winkube.api.meta import get_condition, name_of, set_condition
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import LEASES, NODES, PODS
from winkube.controllers.controller import Context, Controller
from winkube.controllers.indexes import NODE, add_node_index
from winkube.controllers.node.health import Pulse, plan_taints, plan_unknown, pulse_of
from winkube.controllers.node.patch import NODE_WORKERS
from winkube.controllers.pods import is_ready, observed

LEASE_NAMESPACE: Final = "kube-node-lease"


class NodeLifecycleController(Controller):
    name = "node-lifecycle-controller"
    event_source = "node-controller"
    workers = NODE_WORKERS

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._nodes = self.follow(NODES)
        self._leases = self.informer(LEASES)
        self._pods = self.informer(PODS)
        add_node_index(self._pods)
        self._pulses: dict[str, Pulse] = {}
        self._known: dict[str, JsonObject] = {}
        context.node_patches.take_along(self._untaint)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run(), name=self.name)
            period = self.context.config.node_monitor_period
            group.create_task(repeat(period, self.sweep, name=self.name), name="node monitor")

    async def sweep(self) -> None:
        for key in self._nodes.keys():  # noqa: SIM118 - an informer is not a mapping
            self.queue.add(key)

    async def reconcile(self, key: str) -> None:
        node = self._nodes.get(key)
        if node is None:
            self._pulses.pop(key, None)
            self._say_of(self._known.pop(key, None), "RemovingNode", "Removing Node {} from")
            return
        if key not in self._known:
            self._say_of(node, "RegisteredNode", "Registered Node {} in")
        self._known[key] = node
        if self.context.node_patches.is_behind(node):
            return
        if self._is_silent(key, node):
            node = await self._mark_unknown(node)
        change = self._taint(node)
        if change is not None:
            await self.context.node_patches.patch(key, change)
        ready = get_condition(node, "Ready")
        if ready is not None and ready.get("status") != "True":
            await self._mark_pods(key)

    def _taint(self, node: JsonObject) -> JsonObject | None:
        taints = plan_taints(node, self.clock.now(), evict=not self._all_silent())
        if taints is None:
            return None
        version = {"resourceVersion": node["metadata"]["resourceVersion"]}
        return {"metadata": version, "spec": {"taints": taints or None}}

    def _untaint(self, key: str) -> JsonObject | None:
        """What a patch of a healthy node takes along: a new one has a taint that only we remove."""
        node = self._nodes.get(key)
        ready = get_condition(node, "Ready") if node is not None else None
        if node is None or ready is None or ready.get("status") != "True":
            return None
        return self._taint(node)

    def _say_of(self, node: JsonObject | None, reason: str, what: str) -> None:
        if node is not None:
            name = name_of(node)
            text = f"Node {name} event: {what.format(name)} Controller"
            self.event(node, "Normal", reason, text)

    def _is_silent(self, key: str, node: JsonObject) -> bool:
        now = self.clock.monotonic()
        lease = self._leases.get(f"{LEASE_NAMESPACE}/{key}")
        fresh, known = pulse_of(node, lease, now), self._pulses.get(key)
        # A status that turned Unknown is our own writing, not a sign of life.
        posted = known is not None and fresh.status != known.status
        alive = posted and not fresh.status.startswith("Unknown")
        if known is None or fresh.lease != known.lease or alive:
            self._pulses[key] = fresh
            return False
        return now - known.at > self.context.config.node_grace_period

    def _all_silent(self) -> bool:
        now, grace = self.clock.monotonic(), self.context.config.node_grace_period
        return all(now - pulse.at > grace for pulse in self._pulses.values())

    async def _mark_unknown(self, node: JsonObject) -> JsonObject:
        conditions = plan_unknown(node, self.clock.now())
        if conditions is None:
            return node
        self.event(
            node, "Normal", "NodeNotReady", f"Node {name_of(node)} status is now: NodeNotReady"
        )
        fresh = {**node, "status": {**(node.get("status") or {}), "conditions": conditions}}
        return await self.client.update(NODES, fresh, subresource="status")

    async def _mark_pods(self, node: str) -> None:
        """Services stop sending traffic to pods nobody can vouch for."""
        for pod in self._pods.by_index(NODE, node):
            if not is_ready(pod):
                continue
            status = {**pod["status"], "conditions": list(pod["status"].get("conditions") or ())}
            fresh = {**pod, "status": status}
            condition = observed(pod, {"type": "Ready", "status": "False"})
            set_condition(fresh, condition, to_rfc3339(self.clock.now()))
            self.event(pod, "Warning", "NodeNotReady", "Node is not ready")
            try:
                await self.client.update(PODS, fresh, subresource="status")
            except (NotFoundError, ConflictError):
                # Its own event brings it back if it still matters.
                self.queue.add_after(node, 1.0)
