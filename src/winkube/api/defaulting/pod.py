"""Pods and pod templates (upstream: pkg/apis/core/v1/defaults.go)."""

from typing import Any, Final

from winkube.api.defaulting.resources import canonical_sum, round_list, round_resources
from winkube.api.image_name import tag_of
from winkube.base.types import JsonObject

_FILE_MODE: Final = 0o644
_LATEST: Final = "latest"
_REPORTED: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
# Annotations that were fields before init containers had any.
_FORGOTTEN: Final = frozenset(
    f"pod.{stage}.kubernetes.io/init-container{what}"
    for stage in ("alpha", "beta")
    for what in ("s", "-statuses")
)


def default_pod(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        _default_requests(container.get("resources"))
    _default_pod_requests(spec)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    default_beside_spec(obj)


def default_beside_spec(obj: JsonObject) -> None:
    annotations = (obj.get("metadata") or {}).get("annotations")
    if annotations:
        for key in _FORGOTTEN & annotations.keys():
            del annotations[key]
        if not annotations:
            del obj["metadata"]["annotations"]
    status = obj.get("status")
    if status:
        _default_status(status)


def _default_status(status: JsonObject) -> None:
    if "podIP" in status or "podIPs" in status:
        _pair_addresses(status)
    for field in _REPORTED:
        for container in status.get(field) or ():
            round_list(container.get("allocatedResources"))
            round_resources(container.get("resources") or {})


def _pair_addresses(status: JsonObject) -> None:
    """The one address and the first of all are the same; the one is who is believed."""
    first, every = status.get("podIP"), status.get("podIPs") or []
    if first and (not every or every[0].get("ip") != first):
        status["podIPs"] = [{"ip": first}]
    elif every and not first:
        status["podIP"] = every[0].get("ip")


def default_template(template: JsonObject | None) -> None:
    """A PodTemplateSpec: as a pod, less what is decided when the pod is made."""
    if template is not None:
        default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: JsonObject) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    context = spec.setdefault("securityContext", {})
    if (spec.get("os") or {}).get("name") != "windows" and not context.get("supplementalGroups"):
        context.pop("supplementalGroups", None)  # empty, which only Windows minds
    spec.setdefault("schedulerName", "default-scheduler")
    # The old name of the field is kept in step for old readers.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes") or ():
        _default_volume(volume)
    for container in spec.get("initContainers") or ():
        _default_container(container)
    for container in spec.get("containers") or ():
        _default_container(container)
    for container in spec.get("ephemeralContainers") or ():
        _default_container(container)
    if spec.get("resources") is not None:
        round_resources(spec["resources"])
    round_list(spec.get("overhead"))


def _default_host_ports(spec: JsonObject) -> None:
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        for port in container.get("ports") or ():
            if not port.get("hostPort") and port.get("containerPort"):
                port["hostPort"] = port["containerPort"]


def _default_container(container: JsonObject) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image") or "")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    resources = container.setdefault("resources", {})
    round_resources(resources)
    if not resources.get("claims", True):
        del resources["claims"]  # only where they may not be does an empty list say something
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        _default_variable(variable)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            _default_probe(container[name])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _default_http_get(hook.get("httpGet"))


def default_pull_policy(image: str) -> str:
    """Always for the latest tag, spoken or not, unless a digest fixes the image."""
    return "Always" if tag_of(image) == _LATEST else "IfNotPresent"


def _default_variable(variable: JsonObject) -> None:
    reference = (variable.get("valueFrom") or {}).get("fieldRef")
    if reference is not None and not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"
    resource = (variable.get("valueFrom") or {}).get("resourceFieldRef")
    if resource is not None:
        resource.setdefault("divisor", "0")


def _default_probe(probe: JsonObject) -> None:
    for field, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(field):
            probe[field] = value
    _default_http_get(probe.get("httpGet"))
    grpc = probe.get("grpc")
    if grpc is not None and grpc.get("service") is None:
        grpc["service"] = ""


def _default_http_get(action: JsonObject | None) -> None:
    if action is not None:
        if not action.get("path"):
            action["path"] = "/"
        if not action.get("scheme"):
            action["scheme"] = "HTTP"


def _default_requests(resources: JsonObject | None) -> None:
    """A limit without a request is also the request."""
    limits = (resources or {}).get("limits")
    if resources is None or not limits:
        return
    requests = resources.setdefault("requests", {})
    for name, quantity in limits.items():
        requests.setdefault(name, quantity)


_SOURCES: Final = frozenset(("name",))


def _default_pod_requests(spec: JsonObject) -> None:
    """Pod-level requests follow the containers' sum, then the pod-level limits."""
    resources = spec.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return
    requests = resources.get("requests") or {}
    for name in ("cpu", "memory"):
        asked = [
            (container.get("resources") or {}).get("requests", {}).get(name)
            for container in spec.get("containers") or ()
        ]
        if name not in requests and any(asked):
            requests[name] = canonical_sum([quantity for quantity in asked if quantity])
    for name, quantity in limits.items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            requests.setdefault(name, quantity)
    if requests:
        resources["requests"] = requests


def _default_volume(volume: JsonObject) -> None:
    if not any(key not in _SOURCES for key in volume):
        volume["emptyDir"] = {}
    default_volume_source(volume)
    host_path = volume.get("hostPath")
    if host_path is not None:
        host_path.setdefault("type", "")
    _default_file_references((volume.get("downwardAPI") or {}).get("items"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        _default_projection(source)
    ephemeral = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if ephemeral is not None:
        ephemeral.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def default_volume_source(volume: JsonObject) -> None:
    """The fields a pod's volume and a persistent volume's source share."""
    for kind, fields in _VOLUME_DEFAULTS.items():
        source = volume.get(kind)
        if source is not None:
            for key, value in fields.items():
                if source.get(key) in (None, ""):
                    source[key] = value


def _default_projection(source: JsonObject) -> None:
    token = source.get("serviceAccountToken")
    if token is not None and token.get("expirationSeconds") is None:
        token["expirationSeconds"] = 3600
    _default_file_references((source.get("downwardAPI") or {}).get("items"))


def _default_file_references(items: Any) -> None:
    for item in items or ():
        reference = item.get("fieldRef")
        if reference is not None and not reference.get("apiVersion"):
            reference["apiVersion"] = "v1"
        resource = item.get("resourceFieldRef")
        if resource is not None:
            resource.setdefault("divisor", "0")


_VOLUME_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "secret": {"defaultMode": _FILE_MODE},
    "configMap": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "projected": {"defaultMode": _FILE_MODE},
    "iscsi": {"iscsiInterface": "default"},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
}
