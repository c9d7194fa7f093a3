"""Core kinds other than pods (upstream: pkg/apis/core/v1/defaults.go)."""

import base64

from winkube.api.decode import clone
from winkube.api.defaulting.pod import default_template, default_volume_source
from winkube.api.defaulting.resources import round_list, round_resources
from winkube.api.meta import metadata, name_of
from winkube.base.types import JsonObject

_AFFINITY_SECONDS = 10800
_ORIGINS = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_TRAFFIC = ("Cluster", "Local")
_HOUR = 3600
_EXPOSED = ("NodePort", "LoadBalancer")


def default_service(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    _default_affinity(spec)
    for port in spec.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, "") and port.get("port") is not None:
            port["targetPort"] = port["port"]
    kind = spec["type"]
    # Externally reachable: by its type, or by addresses routed to it from outside.
    exposed = kind in _EXPOSED or (kind == "ClusterIP" and spec.get("externalIPs"))
    if exposed and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in ("ClusterIP", *_EXPOSED):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    elif kind == "ExternalName" and spec.get("internalTrafficPolicy") in _TRAFFIC:
        del spec["internalTrafficPolicy"]  # never shown for these, but a wrong one is refused
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    status = obj.setdefault("status", {})
    balancer = status.setdefault("loadBalancer", {})
    for ingress in balancer.get("ingress") or ():
        if kind == "LoadBalancer" and ingress.get("ip"):
            ingress.setdefault("ipMode", "VIP")


def _default_affinity(spec: JsonObject) -> None:
    if not spec.get("sessionAffinity"):
        spec["sessionAffinity"] = "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def default_secret(obj: JsonObject) -> None:
    if not obj.get("type"):
        obj["type"] = "Opaque"
    plain = obj.pop("stringData", None)
    if plain:
        data = obj.setdefault("data", {})
        for key, text in plain.items():
            data[key] = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def default_namespace(obj: JsonObject) -> None:
    name = name_of(obj)
    if name:
        labels = metadata(obj).get("labels") or {}
        obj["metadata"]["labels"] = {**labels, "kubernetes.io/metadata.name": name}
    if not obj.setdefault("status", {}).get("phase"):
        obj["status"]["phase"] = "Active"
    obj.setdefault("spec", {})


def default_node(obj: JsonObject) -> None:
    spec, status = obj.setdefault("spec", {}), obj.get("status") or {}
    _pair_ranges(spec)
    round_list(status.get("capacity"))
    if status.get("capacity") and status.get("allocatable") is None:
        status["allocatable"] = dict(status["capacity"])
    round_list(status.get("allocatable"))


def _pair_ranges(spec: JsonObject) -> None:
    """The one range and the first of all are the same; the one is who is believed."""
    first, every = spec.get("podCIDR"), spec.get("podCIDRs") or []
    if first and (not every or every[0] != first):
        spec["podCIDRs"] = [first]
    elif every and not first:
        spec["podCIDR"] = every[0]


def default_volume(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    if not obj.setdefault("status", {}).get("phase"):
        obj["status"]["phase"] = "Pending"
    if not spec.get("persistentVolumeReclaimPolicy"):
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    spec.setdefault("volumeMode", "Filesystem")
    _default_source(spec)


def default_attachment(obj: JsonObject) -> None:
    inline = ((obj.get("spec") or {}).get("source") or {}).get("inlineVolumeSpec")
    if inline is not None:
        _default_source(inline)


def _default_source(spec: JsonObject) -> None:
    default_volume_source(spec)
    round_list(spec.get("capacity"))
    host_path = spec.get("hostPath")
    if host_path is not None:
        host_path.setdefault("type", "")


def default_claim(obj: JsonObject) -> None:
    if not obj.setdefault("status", {}).get("phase"):
        obj["status"]["phase"] = "Pending"
    for field in ("capacity", "allocatedResources"):
        round_list(obj["status"].get(field))
    default_claim_spec(obj.setdefault("spec", {}))


def pair_sources(claim: JsonObject, old: JsonObject) -> None:
    """The old field for what a volume is filled from knows two kinds; the new one follows it.

    This is done to claims, not to templates of claims. Of one that had a source before, also a
    source of another kind stays.
    """
    spec, kept = claim["spec"], (old.get("spec") or {}).get("dataSource") is not None
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if reference is not None and reference.get("namespace"):
        spec.pop("dataSourceRef")  # from other namespaces: a feature that is off
        reference = None
    known = source is not None and (source.get("apiGroup") or "", source.get("kind")) in _ORIGINS
    if source is not None and reference is None and not (known or kept):
        spec.pop("dataSource")
        source = None
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None:
        spec["dataSource"] = dict(reference)


def default_claim_spec(spec: JsonObject) -> None:
    spec.setdefault("volumeMode", "Filesystem")
    round_resources(spec.get("resources") or {})


def default_endpoints(obj: JsonObject) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def default_limit_range(obj: JsonObject) -> None:
    for item in (obj.get("spec") or {}).get("limits") or ():
        for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            round_list(item.get(field))
        if item.get("type") != "Container":
            continue
        caps, asked = dict(item.get("default") or {}), dict(item.get("defaultRequest") or {})
        for source, target in ((item.get("max"), caps), (caps, asked), (item.get("min"), asked)):
            for name, quantity in (source or {}).items():
                target.setdefault(name, quantity)
        for field, quantities in (("default", caps), ("defaultRequest", asked)):
            if quantities:
                item[field] = quantities


def default_quota(obj: JsonObject) -> None:
    round_list((obj.get("spec") or {}).get("hard"))
    for field in ("hard", "used"):
        round_list((obj.get("status") or {}).get(field))


def default_replication_controller(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    labels = metadata(template or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = clone(labels)
        if not metadata(obj).get("labels"):
            obj.setdefault("metadata", {})["labels"] = clone(labels)
    default_template(template)


def default_pod_template(obj: JsonObject) -> None:
    default_template(obj.get("template"))


def default_token_request(obj: JsonObject) -> None:
    if obj["spec"].get("expirationSeconds") is None:
        obj["spec"]["expirationSeconds"] = _HOUR
