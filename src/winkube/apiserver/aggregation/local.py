"""The APIServices of the groups this server answers for itself, with upstream's priorities."""

from collections.abc import Iterator
from typing import Final

from winkube.api.kinds import KindTable
from winkube.base.types import JsonObject

GROUP: Final = "apiregistration.k8s.io"

_GROUPS: Final = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
}
_VERSION: Final = 15
_VERSIONS: Final = {
    ("", "v1"): 1,
    ("autoscaling", "v2"): 30,
    ("resource.k8s.io", "v1"): 21,
    ("flowcontrol.apiserver.k8s.io", "v1"): 21,
}
_MANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"


def local_services(kinds: KindTable) -> Iterator[JsonObject]:
    versions = dict.fromkeys((kind.group, kind.version) for kind in kinds.all())
    for group, version in versions:
        if group == GROUP or group not in _GROUPS:
            continue
        spec: JsonObject = {
            "version": version,
            "groupPriorityMinimum": _GROUPS[group],
            "versionPriority": _VERSIONS.get((group, version), _VERSION),
        }
        yield {
            "kind": "APIService",
            "apiVersion": f"{GROUP}/v1",
            "metadata": {"name": f"{version}.{group}", "labels": {_MANAGED: "onstart"}},
            "spec": {"group": group, **spec} if group else spec,
        }


def local_condition(now: str) -> JsonObject:
    return {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
