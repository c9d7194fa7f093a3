"""All controllers in one component: shared caches, one event recorder, optional leader election."""

import asyncio
from collections.abc import Callable
from typing import Final

from winkube.base.clock import Clock, SystemClock
from winkube.client.events import EventRecorder
from winkube.client.informer import InformerPool
from winkube.client.leader import LeaderConfig, LeaderElector
from winkube.client.rest import ApiClient
from winkube.controllers.autoscaling.controller import HorizontalPodAutoscalerController
from winkube.controllers.certificates.approver import CertificateApprover
from winkube.controllers.certificates.cleaner import CertificateCleaner
from winkube.controllers.certificates.signer import CertificateSigner
from winkube.controllers.config import ControllerConfig
from winkube.controllers.controller import Context, Controller
from winkube.controllers.cronjob.controller import CronJobController
from winkube.controllers.daemonset.controller import DaemonSetController
from winkube.controllers.deployment.controller import DeploymentController
from winkube.controllers.disruption import DisruptionController
from winkube.controllers.endpoints.legacy import EndpointsController
from winkube.controllers.endpoints.mirror import EndpointSliceMirroringController
from winkube.controllers.endpoints.slice import EndpointSliceController
from winkube.controllers.ephemeral_volume import EphemeralVolumeController
from winkube.controllers.garbage.collector import GarbageCollector
from winkube.controllers.job.controller import JobController
from winkube.controllers.job.finalizer import JobOrphanController
from winkube.controllers.job.ttl import TtlAfterFinishedController
from winkube.controllers.load_balancer import LoadBalancerController
from winkube.controllers.namespace import NamespaceController
from winkube.controllers.namespace_contents import NamespaceContentsController
from winkube.controllers.node.cidr import NodeCidrController
from winkube.controllers.node.eviction import TaintEvictionController
from winkube.controllers.node.lifecycle import NodeLifecycleController
from winkube.controllers.node.ttl import NodeTtlController
from winkube.controllers.pod_gc import PodGarbageCollector
from winkube.controllers.quota import ResourceQuotaController
from winkube.controllers.replicaset import ReplicaSetController, ReplicationController
from winkube.controllers.role_aggregation import RoleAggregationController
from winkube.controllers.service_account_token import ServiceAccountTokenController
from winkube.controllers.service_range import ServiceRangeController
from winkube.controllers.stale_disruption import StaleDisruptionController
from winkube.controllers.statefulset.controller import StatefulSetController
from winkube.controllers.volume.attributes import AttributesClassProtection
from winkube.controllers.volume.binder import PersistentVolumeBinder
from winkube.controllers.volume.expansion import VolumeExpander
from winkube.controllers.volume.local_path import LocalPathProvisioner
from winkube.controllers.volume.protection import (
    ClaimProtection,
    VolumeProtection,
)

CONTROLLERS: Final[tuple[Callable[[Context], Controller], ...]] = (
    NamespaceContentsController,
    NodeCidrController,
    DeploymentController,
    ReplicaSetController,
    ReplicationController,
    StatefulSetController,
    DaemonSetController,
    JobController,
    JobOrphanController,
    TtlAfterFinishedController,
    CronJobController,
    DisruptionController,
    StaleDisruptionController,
    ResourceQuotaController,
    HorizontalPodAutoscalerController,
    PersistentVolumeBinder,
    LocalPathProvisioner,
    ClaimProtection,
    VolumeProtection,
    AttributesClassProtection,
    VolumeExpander,
    EndpointSliceController,
    EndpointsController,
    EndpointSliceMirroringController,
    NamespaceController,
    LoadBalancerController,
    NodeLifecycleController,
    TaintEvictionController,
    PodGarbageCollector,
    GarbageCollector,
    ServiceAccountTokenController,
    CertificateApprover,
    CertificateSigner,
    CertificateCleaner,
    RoleAggregationController,
    EphemeralVolumeController,
    NodeTtlController,
    ServiceRangeController,
)


class ControllerManager:
    def __init__(
        self, client: ApiClient, config: ControllerConfig, *, clock: Clock | None = None
    ) -> None:
        self.ready = asyncio.Event()
        self._client = client
        self._config = config
        self._clock: Clock = clock or SystemClock()

    async def run(self) -> None:
        if not self._config.leader_elect:
            await self._control()
            return
        name = "kube-controller-manager"
        config = LeaderConfig(name, self._config.identity, component=name)
        await LeaderElector(self._client, config, clock=self._clock).run(self._control)

    async def _control(self) -> None:
        """Fresh caches and controllers each time we lead: old ones may have missed changes."""
        informers = InformerPool(self._client)
        recorder = EventRecorder(self._client, "controllermanager", clock=self._clock)
        context = Context(self._client, informers, recorder, self._config, self._clock)
        controllers = [make(context) for make in CONTROLLERS]
        async with asyncio.TaskGroup() as group:
            group.create_task(informers.run(), name="informers")
            group.create_task(recorder.run(), name="events")
            for controller in controllers:
                group.create_task(_begin(controller), name=controller.name)
            await informers.synced()
            self.ready.set()


async def _begin(controller: Controller) -> None:
    """A new node waits for its network: what it needs must not wait for forty other lists."""
    await controller.synced()
    await controller.run()
