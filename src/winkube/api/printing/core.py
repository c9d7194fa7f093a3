"""Rows of the core group, pods apart."""

from typing import Any

from winkube.api.meta import find_condition, get_condition, is_deleting, labels_of
from winkube.api.printing.age import age_of
from winkube.api.printing.printer import (
    NONE,
    Printer,
    age,
    containers_text,
    created,
    joined,
    labels_text,
    named,
    spec_of,
    status_of,
    with_more,
)
from winkube.api.volumes import class_of
from winkube.base.types import JsonObject

_ROLE_PREFIX = "node-role.kubernetes.io/"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _node(obj: JsonObject, now: float) -> list[Any]:
    info = status_of(obj).get("nodeInfo") or {}
    ready = get_condition(obj, "Ready")
    states = ["Unknown"]
    if ready is not None:
        states = ["Ready" if ready.get("status") == "True" else "NotReady"]
    if spec_of(obj).get("unschedulable"):
        states.append("SchedulingDisabled")
    return [
        named(obj),
        ",".join(states),
        _roles(obj),
        age(obj, now),
        info.get("kubeletVersion") or "",
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _roles(obj: JsonObject) -> str:
    roles = set()
    for key, value in labels_of(obj).items():
        if key.startswith(_ROLE_PREFIX):
            roles.add(key.removeprefix(_ROLE_PREFIX))
        elif key == "kubernetes.io/role":
            roles.add(value)
    return joined(sorted(roles - {""}))


def _address(obj: JsonObject, kind: str) -> str:
    addresses = status_of(obj).get("addresses") or ()
    return next((str(a.get("address")) for a in addresses if a.get("type") == kind), NONE)


def _service(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP")]
    ports = [
        f"{port.get('port')}{_node_port(port)}/{port.get('protocol', 'TCP')}"
        for port in spec.get("ports") or ()
    ]
    return [
        named(obj),
        spec.get("type") or "",
        addresses[0] or NONE,
        _external(spec, status_of(obj)),
        joined(ports),
        age(obj, now),
        labels_text(spec.get("selector")),
    ]


def _node_port(port: JsonObject) -> str:
    return f":{port['nodePort']}" if port.get("nodePort") else ""


def _external(spec: JsonObject, status: JsonObject) -> str:
    kind, extra = spec.get("type"), [str(ip) for ip in spec.get("externalIPs") or ()]
    if kind == "ExternalName":
        return str(spec.get("externalName") or "")
    if kind != "LoadBalancer":
        return joined(extra) if kind in ("ClusterIP", "NodePort") else "<unknown>"
    balancer = balancer_text(status.get("loadBalancer"))
    return ",".join([*(balancer.split(",") if balancer else ()), *extra]) or "<pending>"


def balancer_text(balancer: JsonObject | None) -> str:
    entries = (balancer or {}).get("ingress") or ()
    names = {str(entry.get("ip") or entry.get("hostname") or "") for entry in entries}
    return ",".join(sorted(names - {""}))


def _endpoints(obj: JsonObject, now: float) -> list[Any]:
    found, subsets = [], obj.get("subsets") or ()
    for subset in subsets:
        addresses = [str(address.get("ip")) for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        if not ports:
            found += addresses
        for port in ports:
            found += [_host_port(address, port.get("port")) for address in addresses]
    return [named(obj), with_more(found, 3, empty="" if subsets else NONE), age(obj, now)]


def _host_port(address: str, port: Any) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _event(obj: JsonObject, now: float) -> list[Any]:
    series, source = obj.get("series"), obj.get("source") or {}
    first = age_of(obj.get("firstTimestamp") or obj.get("eventTime"), now)
    last = age_of(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    count = obj.get("count") or 1
    if series is not None:
        last, count = age_of(series.get("lastObservedTime"), now), series.get("count") or 0
    target = obj.get("involvedObject") or {}
    kind = str(target.get("kind") or "").lower()
    component = source.get("component") or obj.get("reportingComponent") or ""
    instance = source.get("host") or obj.get("reportingInstance") or ""
    return [
        last,
        obj.get("type") or "",
        obj.get("reason") or "",
        f"{kind}/{target['name']}" if target.get("name") else kind,
        target.get("fieldPath") or "",
        f"{component}, {instance}" if instance else component,
        str(obj.get("message") or "").strip(),
        first,
        count,
        named(obj),
    ]


def _namespace(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), status_of(obj).get("phase") or "", age(obj, now)]


def _secret(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), obj.get("type") or "", len(obj.get("data") or ()), age(obj, now)]


def _config_map(obj: JsonObject, now: float) -> list[Any]:
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [named(obj), count, age(obj, now)]


def _service_account(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), len(obj.get("secrets") or ()), age(obj, now)]


def _modes(modes: Any) -> str:
    return ",".join(_MODES[mode] for mode in _MODES if mode in (modes or ()))


def _phase(obj: JsonObject) -> str:
    return "Terminating" if is_deleting(obj) else str(status_of(obj).get("phase") or "")


def _volume(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    claim = spec.get("claimRef")
    return [
        named(obj),
        (spec.get("capacity") or {}).get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy") or "",
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        class_of(obj),
        spec.get("volumeAttributesClassName") or "<unset>",
        status_of(obj).get("reason") or "",
        age(obj, now),
        spec.get("volumeMode") or "<unset>",
    ]


def _claim(obj: JsonObject, now: float) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    bound = bool(spec.get("volumeName"))
    return [
        named(obj),
        _phase(obj),
        spec.get("volumeName") or "",
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        _modes(status.get("accessModes")) if bound else "",
        class_of(obj),
        spec.get("volumeAttributesClassName") or "<unset>",
        age(obj, now),
        spec.get("volumeMode") or "<unset>",
    ]


def _component_status(obj: JsonObject, now: float) -> list[Any]:
    healthy = find_condition(obj.get("conditions") or (), "Healthy") or {}
    states = {None: "Unknown", "True": "Healthy"}
    status = states.get(healthy.get("status"), "Unhealthy")
    return [named(obj), status, healthy.get("message", ""), healthy.get("error", "")]


def _quota(obj: JsonObject, now: float) -> list[Any]:
    status = status_of(obj)
    used = status.get("used") or {}
    parts: dict[bool, list[str]] = {True: [], False: []}
    for name, hard in sorted((status.get("hard") or {}).items()):
        parts[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard}")
    return [named(obj), ", ".join(parts[False]), ", ".join(parts[True]), age(obj, now)]


def _limit_range(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), created(obj)]


def _template(obj: JsonObject, now: float) -> list[Any]:
    template = obj.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    return [named(obj), *containers_text(template), labels_text(labels)]


NODE = Printer(
    (
        "Name", "Status", "Roles", "Age", "Version",
        "+Internal-IP", "+External-IP", "+OS-Image", "+Kernel-Version", "+Container-Runtime",
    ),
    _node,
)  # fmt: skip
SERVICE = Printer(
    ("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "+Selector"), _service
)
ENDPOINTS = Printer(("Name", "Endpoints", "Age"), _endpoints)
EVENT = Printer(
    (
        "Last Seen", "Type", "Reason", "Object", "+Subobject", "+Source", "Message",
        "+First Seen", "+Count", "+Name",
    ),
    _event,
)  # fmt: skip
NAMESPACE = Printer(("Name", "Status", "Age"), _namespace)
SECRET = Printer(("Name", "Type", "Data", "Age"), _secret)
CONFIG_MAP = Printer(("Name", "Data", "Age"), _config_map)
SERVICE_ACCOUNT = Printer(("Name", "Secrets", "Age"), _service_account)
VOLUME = Printer(
    (
        "Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass",
        "VolumeAttributesClass", "Reason", "Age", "+VolumeMode",
    ),
    _volume,
)  # fmt: skip
CLAIM = Printer(
    (
        "Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass",
        "VolumeAttributesClass", "Age", "+VolumeMode",
    ),
    _claim,
)  # fmt: skip
COMPONENT_STATUS = Printer(("Name", "Status", "Message", "Error"), _component_status)
QUOTA = Printer(("Name", "Request", "Limit", "Age"), _quota)
LIMIT_RANGE = Printer(("Name", "Created At@"), _limit_range)
TEMPLATE = Printer(("Name", "Containers", "Images", "Pod Labels"), _template)
