"""Which warnings belong to which kind, on create and on update."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from winkube.api.kinds import Kind
from winkube.api.warnings.claim import claim_warnings
from winkube.api.warnings.core import (
    account_update_warnings,
    account_warnings,
    endpoints_warnings,
    node_warnings,
    pod_template_warnings,
)
from winkube.api.warnings.network import (
    balancer_warnings,
    ingress_warnings,
    policy_warnings,
    slice_update_warnings,
    slice_warnings,
)
from winkube.api.warnings.placing import (
    capacity_warnings,
    runtime_class_warnings,
    storage_class_warnings,
)
from winkube.api.warnings.pod import MOST, pod_status_warnings, pod_warnings
from winkube.api.warnings.secret import secret_warnings
from winkube.api.warnings.service import service_warnings
from winkube.api.warnings.volume import volume_warnings
from winkube.api.warnings.workload import (
    controller_warnings,
    cron_job_spec_warnings,
    cron_job_warnings,
    daemon_set_warnings,
    if_changed,
    job_spec_warnings,
    job_warnings,
    stateful_set_update_warnings,
    stateful_set_warnings,
)
from winkube.base.types import JsonObject

Create = Callable[[JsonObject], Iterable[str]]
Update = Callable[[JsonObject, JsonObject], Iterable[str]]

_CREATE: Final[Mapping[tuple[str, str], Create]] = {
    ("", "Endpoints"): endpoints_warnings,
    ("", "Node"): node_warnings,
    ("", "PersistentVolume"): volume_warnings,
    ("", "Pod"): pod_warnings,
    ("", "PodTemplate"): pod_template_warnings,
    ("", "ReplicationController"): controller_warnings,
    ("", "Secret"): secret_warnings,
    ("", "ServiceAccount"): account_warnings,
    ("", "Service"): service_warnings,
    ("", "PersistentVolumeClaim"): claim_warnings,
    ("apps", "DaemonSet"): daemon_set_warnings,
    ("apps", "Deployment"): controller_warnings,
    ("apps", "ReplicaSet"): controller_warnings,
    ("apps", "StatefulSet"): stateful_set_warnings,
    ("batch", "CronJob"): cron_job_warnings,
    ("batch", "Job"): job_warnings,
    ("discovery.k8s.io", "EndpointSlice"): slice_warnings,
    ("networking.k8s.io", "Ingress"): ingress_warnings,
    ("networking.k8s.io", "NetworkPolicy"): policy_warnings,
    ("node.k8s.io", "RuntimeClass"): runtime_class_warnings,
    ("storage.k8s.io", "CSIStorageCapacity"): capacity_warnings,
    ("storage.k8s.io", "StorageClass"): storage_class_warnings,
}
_UPDATE: Final[Mapping[tuple[str, str], Update]] = {
    ("", "Endpoints"): lambda new, old: endpoints_warnings(new),
    ("", "Node"): lambda new, old: node_warnings(new),
    ("", "PersistentVolume"): lambda new, old: volume_warnings(new),
    ("", "PodTemplate"): lambda new, old: pod_template_warnings(new),
    # Upstream looks at the template that goes, not at the one that comes.
    ("", "ReplicationController"): lambda new, old: if_changed(daemon_set_warnings)(old, new),
    ("", "Secret"): lambda new, old: secret_warnings(new),
    ("", "ServiceAccount"): account_update_warnings,
    ("", "Service"): lambda new, old: service_warnings(new),
    ("", "PersistentVolumeClaim"): lambda new, old: claim_warnings(new),
    ("apps", "DaemonSet"): if_changed(daemon_set_warnings),
    ("apps", "Deployment"): if_changed(daemon_set_warnings),
    ("apps", "ReplicaSet"): if_changed(daemon_set_warnings),
    ("apps", "StatefulSet"): stateful_set_update_warnings,
    ("batch", "CronJob"): if_changed(cron_job_spec_warnings),
    ("batch", "Job"): if_changed(job_spec_warnings),
    ("discovery.k8s.io", "EndpointSlice"): lambda new, old: slice_update_warnings(new),
    ("networking.k8s.io", "NetworkPolicy"): lambda new, old: policy_warnings(new),
    ("node.k8s.io", "RuntimeClass"): lambda new, old: runtime_class_warnings(new),
    ("storage.k8s.io", "CSIStorageCapacity"): lambda new, old: capacity_warnings(new),
    ("storage.k8s.io", "StorageClass"): lambda new, old: storage_class_warnings(new),
}
_STATUS: Final[Mapping[tuple[str, str], Create]] = {
    ("", "Pod"): pod_status_warnings,
    ("", "Service"): balancer_warnings,
    ("networking.k8s.io", "Ingress"): balancer_warnings,
}


def warnings_on_create(kind: Kind, obj: JsonObject) -> Iterable[str]:
    """Of a valid object."""
    find = _CREATE.get((kind.group, kind.kind))
    return itertools.islice(find(obj), MOST) if find is not None else ()


def warnings_on_update(
    kind: Kind, new: JsonObject, old: JsonObject, *, part: str = ""
) -> Iterable[str]:
    if part:
        of_status = _STATUS.get((kind.group, kind.kind)) if part == "status" else None
        return of_status(new) if of_status is not None else ()
    find = _UPDATE.get((kind.group, kind.kind))
    return itertools.islice(find(new, old), MOST) if find is not None else ()
