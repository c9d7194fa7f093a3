"""Fields of features that upstream of this version has off: dropped before an object is judged.

Whoever sent them still owns them: owners are told before (k8s.io/kubernetes: dropDisabledFields of
the strategies).
"""

from typing import Final

from winkube.api.features import drop_disabled
from winkube.api.kinds import Kind
from winkube.base.types import JsonObject

_TEMPLATE: Final = ("spec", "template", "spec")
# Where kinds that make pods keep what they make them of.
_POD_SPECS: Final = {
    ("", "pods"): ("spec",),
    ("", "podtemplates"): ("template", "spec"),
    ("", "replicationcontrollers"): _TEMPLATE,
    ("apps", "deployments"): _TEMPLATE,
    ("apps", "replicasets"): _TEMPLATE,
    ("apps", "statefulsets"): _TEMPLATE,
    ("apps", "daemonsets"): _TEMPLATE,
    ("batch", "jobs"): _TEMPLATE,
    ("batch", "cronjobs"): ("spec", "jobTemplate", *_TEMPLATE),
}


def drop_gated(kind: Kind, obj: JsonObject) -> None:
    """In place."""
    key = (kind.group, kind.plural)
    path = _POD_SPECS.get(key)
    if path is not None:
        _drop_from_pod(obj, path)
    elif key == ("", "nodes"):
        (obj.get("spec") or {}).pop("configSource", None)
        (obj.get("status") or {}).pop("config", None)
    elif key == ("coordination.k8s.io", "leases"):
        spec = obj.get("spec") or {}
        spec.pop("strategy", None)
        spec.pop("preferredHolder", None)
    elif key == ("autoscaling", "horizontalpodautoscalers"):
        behavior = (obj.get("spec") or {}).get("behavior") or {}
        for rules in (behavior.get("scaleUp"), behavior.get("scaleDown")):
            (rules or {}).pop("tolerance", None)
    elif key == ("storage.k8s.io", "csidrivers"):
        (obj.get("spec") or {}).pop("nodeAllocatableUpdatePeriodSeconds", None)
    elif key == ("discovery.k8s.io", "endpointslices"):
        for endpoint in obj.get("endpoints") or ():
            endpoint.pop("deprecatedTopology", None)
    elif kind.group == "resource.k8s.io":
        _drop_from_devices(kind, obj)


def _drop_from_pod(obj: JsonObject, path: tuple[str, ...]) -> None:
    spec: JsonObject | None = obj
    for key in path:
        spec = (spec or {}).get(key)
    if spec:
        drop_disabled(spec)


def _drop_from_devices(kind: Kind, obj: JsonObject) -> None:
    """The taints of devices and their tolerations, and other names of classes."""
    spec = obj.get("spec") or {}
    if kind.kind == "DeviceClass":
        spec.pop("extendedResourceName", None)
        return
    for entry in spec.get("devices") or () if kind.kind == "ResourceSlice" else ():
        entry.pop("taints", None)
    claim = spec.get("spec") or {} if kind.kind == "ResourceClaimTemplate" else spec
    wishes = claim.get("devices") if kind.kind != "ResourceSlice" else None
    for request in (wishes or {}).get("requests") or ():
        for choice in (request.get("exactly") or {}, *(request.get("firstAvailable") or ())):
            choice.pop("tolerations", None)
