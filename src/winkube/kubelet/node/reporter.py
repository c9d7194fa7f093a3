"""Keep the Node object true: register, report status, renew the lease.

The status goes out at once when something that matters changed, and every five minutes otherwise;
the lease, which is what tells the control plane that we live, every ten seconds.
"""

import asyncio
import logging
from typing import Final

from winkube.aio.backoff import Backoff
from winkube.aio.supervise import repeat
from winkube.api.errors import AlreadyExistsError, ApiError, NotFoundError
from winkube.base.clock import Clock, to_rfc3339_micro
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import LEASES, NODES
from winkube.client.rest import ApiClient, PatchType
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.node.machine import MachineFacts, free_disk, read_meminfo
from winkube.kubelet.node.runtime import list_images, read_health
from winkube.kubelet.node.status import (
    EVICTION_MEMORY,
    Pressure,
    RuntimeHealth,
    conditions,
    new_node,
    node_labels,
    node_status,
    to_images,
)
from winkube.kubelet.pod.state import CriCaller
from winkube.kubelet.pod.tools import Recorder

LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_SECONDS: Final = 40
RENEW_SECONDS: Final = 10.0
REPORT_SECONDS: Final = 300.0
CHECK_SECONDS: Final = 10.0
IMPATIENT_SECONDS: Final = 0.2
# A runtime that starts is ready in an instant; one that is broken must not keep us busy.
NOT_READY: Final = Backoff(first=0.05, factor=1.15, ceiling=2.0)
# Not a share of the disk: it is the user's own, often nearly full, and not only ours.
MIN_FREE_DISK: Final = 1 << 30

log = logging.getLogger(__name__)


class NodeReporter:
    def __init__(
        self,
        config: KubeletConfig,
        client: ApiClient,
        cri: CriCaller,
        recorder: Recorder,
        clock: Clock,
    ) -> None:
        self.registered = asyncio.Event()
        self.runtime_ready = asyncio.Event()
        self.health = RuntimeHealth()
        self.machine: MachineFacts | None = None
        self.labels: dict[str, str] = dict(config.labels)
        self.node: JsonObject = {}
        self.on_ready = _nothing
        self._config = config
        self._client = client
        self._cri = cri
        self._recorder = recorder
        self._clock = clock
        self._sent: JsonObject = {}
        self._sent_at = 0.0
        self._lease: JsonObject | None = None

    async def run(self, machine: MachineFacts) -> None:
        self.machine = machine
        self.labels = node_labels(self._config, machine.arch)
        await self._register()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._report_for_ever(), name="node-status")
            group.create_task(repeat(RENEW_SECONDS, self._renew, name="lease"), name="node-lease")

    async def _register(self) -> None:
        while True:
            try:
                self.node = await self._create_or_adopt()
            except (ApiError, TransportError) as error:
                log.warning("cannot register node", extra={"error": str(error)})
                await asyncio.sleep(IMPATIENT_SECONDS)
            else:
                self._event("Normal", "Starting", "Starting kubelet.")
                self.registered.set()
                return

    async def _create_or_adopt(self) -> JsonObject:
        assert self.machine is not None  # set by run()
        try:
            return await self._client.create(NODES, new_node(self._config, self.machine.arch))
        except AlreadyExistsError:
            # Ours from before: keep what others added, put our labels right.
            return await self._client.patch(
                NODES, self._config.node_name, {"metadata": {"labels": self.labels}}
            )

    async def _report_for_ever(self) -> None:
        failures = 0
        while True:
            self.health = await read_health(self._cri)
            if self.health.ready:
                failures = 0
                self.runtime_ready.set()
            else:
                failures += 1
                self.runtime_ready.clear()
            self.on_ready()
            try:
                await self._report()
            except NotFoundError:
                # Somebody deleted the node: register again.
                await self._register()
                self._sent = {}
                continue
            except (ApiError, TransportError) as error:
                log.warning("node status not sent", extra={"error": str(error)})
                await asyncio.sleep(1.0)
                continue
            await asyncio.sleep(NOT_READY.delay(failures) if failures else CHECK_SECONDS)

    async def _report(self) -> None:
        assert self.machine is not None  # set by run()
        old = {entry["type"]: entry for entry in self._sent.get("conditions") or []}
        if not old:
            known = (self.node.get("status") or {}).get("conditions") or []
            old = {entry["type"]: entry for entry in known}
        now = self._clock.now()
        status = node_status(
            self._config,
            self.machine,
            self.health,
            conditions=conditions(self.health, read_pressure(self._config), old, now),
            images=to_images(await list_images(self._cri)) if self.health.ready else [],
        )
        if _facts(status) == _facts(self._sent) and now - self._sent_at < REPORT_SECONDS:
            return
        self.node = await self._client.patch(
            NODES,
            self._config.node_name,
            {"status": to_status_patch(status)},
            subresource="status",
            patch_type=PatchType.STRATEGIC,
        )
        self._announce(old, status)
        self._sent, self._sent_at = status, now

    def _announce(self, old: dict[str, JsonObject], status: JsonObject) -> None:
        """Events for conditions that turned."""
        for entry in status["conditions"]:
            before = old.get(entry["type"]) or {}
            if before.get("status") == entry["status"]:
                continue
            if entry["type"] == "Ready":
                if not before:
                    continue  # the first word about it is no change
                reason = "NodeReady" if entry["status"] == "True" else "NodeNotReady"
            else:
                reason = entry["reason"].replace("KubeletHas", "NodeHas")
            self._event("Normal", reason, f"Node {self._config.node_name} status is now: {reason}")

    async def _renew(self) -> None:
        spec = {
            "holderIdentity": self._config.node_name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": to_rfc3339_micro(self._clock.now()),
        }
        if self._lease is not None:
            try:
                await self._client.patch(
                    LEASES, self._config.node_name, {"spec": spec}, namespace=LEASE_NAMESPACE
                )
            except NotFoundError:
                self._lease = None
            else:
                return
        await self._create_lease(spec)

    async def _create_lease(self, spec: JsonObject) -> None:
        name, owner = self._config.node_name, self.node.get("metadata") or {}
        lease: JsonObject = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": LEASE_NAMESPACE},
            "spec": spec,
        }
        if owner.get("uid"):
            reference = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": owner["uid"]}
            lease["metadata"]["ownerReferences"] = [reference]
        try:
            self._lease = await self._client.create(LEASES, lease, namespace=LEASE_NAMESPACE)
        except AlreadyExistsError:
            self._lease = await self._client.patch(
                LEASES, name, {"spec": spec}, namespace=LEASE_NAMESPACE
            )

    def _event(self, kind: str, reason: str, message: str) -> None:
        name = self._config.node_name
        # Node events carry the name as uid (upstream does the same, kubectl describe relies on it).
        reference = {"kind": "Node", "apiVersion": "v1", "name": name, "uid": name}
        self._recorder.record(reference, kind, reason, message)


def _nothing() -> None:
    pass


def read_pressure(config: KubeletConfig) -> Pressure:
    available = read_meminfo().get("MemAvailable", 1 << 62)
    return Pressure(
        memory=available < EVICTION_MEMORY[config.os],
        disk=free_disk(config.root_dir) < MIN_FREE_DISK,
    )


def to_status_patch(status: JsonObject) -> JsonObject:
    """Addresses are merged by type: two of one type have to take the place of what is there."""
    addresses = status["addresses"]
    if len({address["type"] for address in addresses}) == len(addresses):
        return status
    return {**status, "addresses": [*addresses, {"$patch": "replace"}]}


def _facts(status: JsonObject) -> JsonObject:
    """The status without heartbeats."""
    beats = [
        {key: value for key, value in entry.items() if key != "lastHeartbeatTime"}
        for entry in status.get("conditions") or []
    ]
    return {**status, "conditions": beats}
