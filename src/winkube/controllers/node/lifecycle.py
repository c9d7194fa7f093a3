"""Node health: silent nodes become Unknown, unhealthy ones are tainted, their pods not ready.

Signs of life are judged by when *we* saw them change, so neither the clocks of nodes nor a restart
of this controller makes a healthy node look dead. When every node is silent the fault is more
likely ours (the machine slept, the server was away): nothing is evicted then.
"""

import asyncio
from typing import Final

from winkube.aio.supervise import repeat
from winkube.api.errors import ConflictError, NotFoundError
from winkube.api.meta import get_condition, key_of, name_of, set_condition
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import LEASES, NODES, PODS
from winkube.controllers.controller import Context, Controller
from winkube.controllers.indexes import NODE, add_node_index
from winkube.controllers.node.health import Pulse, plan_taints, plan_unknown, pulse_of
from winkube.controllers.node.patch import NODE_WORKERS
from winkube.controllers.pods import is_ready, node_of

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
        self._pods.on_change(self._pod_changed)
        # Pods that nobody vouches for, by node: those it had when it went silent, and those it got.
        self._suspects: dict[str, set[str]] = {}
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
            self._suspects.pop(key, None)
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
        if _is_healthy(node):
            self._suspects.pop(key, None)
        elif key in self._suspects:
            await self._mark_pods(key)

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        """A pod that comes to a node that is not ready counts as not ready, too."""
        name = node_of(new) if new is not None else ""
        if not name or (old is not None and node_of(old) == name):
            return
        # Of a node that has yet to speak nothing is known.
        ready = get_condition(self._nodes.get(name) or {}, "Ready")
        if ready is not None and ready.get("status") != "True":
            self._suspects.setdefault(name, set()).add(key)
            self.queue.add(name)

    def _taint(self, node: JsonObject) -> JsonObject | None:
        taints = plan_taints(node, self.clock.now(), evict=not self._all_silent())
        if taints is None:
            return None
        version = {"resourceVersion": node["metadata"]["resourceVersion"]}
        return {"metadata": version, "spec": {"taints": taints or None}}

    def _untaint(self, key: str) -> JsonObject | None:
        """What a patch of a healthy node takes along: a new one has a taint that only we remove."""
        node = self._nodes.get(key)
        return self._taint(node) if node is not None and _is_healthy(node) else None

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
        config, begins = self.context.config, get_condition(node, "Ready") is None
        grace = config.node_startup_grace_period if begins else config.node_grace_period
        return now - known.at > grace

    def _all_silent(self) -> bool:
        now, grace = self.clock.monotonic(), self.context.config.node_grace_period
        return all(now - pulse.at > grace for pulse in self._pulses.values())

    async def _mark_unknown(self, node: JsonObject) -> JsonObject:
        conditions = plan_unknown(node, self.clock.now())
        if conditions is None:
            return node
        fresh = {**node, "status": {**(node.get("status") or {}), "conditions": conditions}}
        written = await self.client.update(NODES, fresh, subresource="status")
        if _is_healthy(node):
            name = name_of(node)
            self._suspects[name] = {key_of(pod) for pod in self._pods.by_index(NODE, name)}
            self.event(node, "Normal", "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        return written

    async def _mark_pods(self, node: str) -> None:
        """Services stop sending traffic to pods nobody can vouch for."""
        for key in tuple(self._suspects[node]):
            pod = self._pods.get(key)
            if pod is None or node_of(pod) != node or not is_ready(pod):
                self._suspects[node].discard(key)
                continue
            status = {**pod["status"], "conditions": list(pod["status"].get("conditions") or ())}
            fresh = {**pod, "status": status}
            now = to_rfc3339(self.clock.now())
            said = {**(get_condition(pod, "Ready") or {}), "status": "False"}
            set_condition(fresh, {**said, "lastTransitionTime": now}, now)
            self.event(pod, "Warning", "NodeNotReady", "Node is not ready")
            try:
                await self.client.update(PODS, fresh, subresource="status")
                self._suspects[node].discard(key)
            except (NotFoundError, ConflictError):
                # Looked at again when the cache knows what became of it.
                self.queue.add_after(node, 1.0)
        if not self._suspects[node]:
            del self._suspects[node]


def _is_healthy(node: JsonObject) -> bool:
    return (get_condition(node, "Ready") or {}).get("status") == "True"
