"""Rows of networking, RBAC, storage, scheduling, admission and the other cluster kinds."""

from collections.abc import Sequence
from typing import Any, Final

from winkube.api.go.text import selector_in_go
from winkube.api.meta import get_condition
from winkube.api.printing.age import human_duration
from winkube.api.printing.core import balancer_text
from winkube.api.printing.printer import (
    NONE,
    Printer,
    age,
    created,
    joined,
    named,
    selector_text,
    spec_of,
    status_of,
    with_more,
)
from winkube.api.volumes import is_default_class
from winkube.base.types import JsonObject

_MANY: Final = 3  # entries of one cell


def _endpoint_slice(obj: JsonObject, now: float) -> list[Any]:
    ports = [
        str(port["port"] if port.get("port") is not None else port.get("name", "*"))
        for port in obj.get("ports") or ()
    ]
    addresses = [
        str(address)
        for endpoint in obj.get("endpoints") or ()
        for address in endpoint.get("addresses") or ()
    ]
    return [
        named(obj),
        obj.get("addressType") or "",
        with_more(ports, _MANY, empty="<unset>"),
        with_more(addresses, _MANY, empty="<unset>"),
        age(obj, now),
    ]


def _hosts(rules: Sequence[JsonObject]) -> str:
    """Three hosts at most; what is left out is counted in rules, with hosts or without."""
    hosts: list[str] = []
    more = False
    for rule in rules:
        more = more or len(hosts) == _MANY
        if not more and rule.get("host"):
            hosts.append(str(rule["host"]))
    shown = ",".join(hosts) or "*"
    return f"{shown} + {len(rules) - _MANY} more..." if more else shown


def _ingress(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    return [
        named(obj),
        spec.get("ingressClassName") or NONE,
        _hosts(spec.get("rules") or ()),
        balancer_text(status_of(obj).get("loadBalancer")),
        "80, 443" if spec.get("tls") else "80",
        age(obj, now),
    ]


def _ingress_class(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    parameters = spec.get("parameters")
    text = NONE
    if parameters is not None:
        group = parameters.get("apiGroup")
        kind = f"{parameters.get('kind')}.{group}" if group else parameters.get("kind")
        text = f"{kind}/{parameters.get('name')}"
    return [named(obj), spec.get("controller") or "", text, age(obj, now)]


def _network_policy(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), selector_text(spec_of(obj).get("podSelector") or {}), age(obj, now)]


def _ip_address(obj: JsonObject, now: float) -> list[Any]:
    parent = spec_of(obj).get("parentRef")
    if parent is None:
        return [named(obj), NONE, age(obj, now)]
    kind = ".".join(str(parent[key]) for key in ("resource", "group") if parent.get(key))
    parts = [kind, parent.get("namespace"), parent.get("name")]
    return [named(obj), "/".join(str(part) for part in parts if part), age(obj, now)]


def _service_cidr(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), ",".join(spec_of(obj).get("cidrs") or ()), age(obj, now)]


def _binding(obj: JsonObject, now: float) -> list[Any]:
    role = obj.get("roleRef") or {}
    by_kind: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        name = str(subject.get("name", ""))
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        by_kind.setdefault(subject.get("kind", ""), []).append(name)
    subjects = [", ".join(by_kind[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [named(obj), f"{role.get('kind')}/{role.get('name')}", age(obj, now), *subjects]


def _role(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), created(obj)]


def _signing_request(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    seconds = spec.get("expirationSeconds")
    return [
        named(obj),
        age(obj, now),
        spec.get("signerName") or NONE,
        spec.get("username") or "",
        NONE if seconds is None else human_duration(seconds),
        _request_state(status_of(obj)),
    ]


def _request_state(status: JsonObject) -> str:
    types = {condition.get("type") for condition in status.get("conditions") or ()}
    words = [word for word in ("Denied", "Approved") if word in types][:1] or ["Pending"]
    if "Failed" in types:
        words.append("Failed")
    if status.get("certificate"):
        words.append("Issued")
    return ",".join(words)


def _lease(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), spec_of(obj).get("holderIdentity") or "", age(obj, now)]


def _storage_class(obj: JsonObject, now: float) -> list[Any]:
    return [
        f"{named(obj)} (default)" if is_default_class(obj) else named(obj),
        obj.get("provisioner") or "",
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    ]


def _attributes_class(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), obj.get("driverName") or "", age(obj, now)]


def _attachment(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    volume = (spec.get("source") or {}).get("persistentVolumeName") or ""
    attached = bool(status_of(obj).get("attached"))
    return [named(obj), spec.get("attacher"), volume, spec.get("nodeName"), attached, age(obj, now)]


def _csi_node(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), len(spec_of(obj).get("drivers") or ()), age(obj, now)]


def _csi_driver(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    tokens = spec.get("tokenRequests")
    return [
        named(obj),
        spec.get("attachRequired", True),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        "<unset>" if tokens is None else ",".join(token.get("audience", "") for token in tokens),
        bool(spec.get("requiresRepublish")),
        joined(spec.get("volumeLifecycleModes") or ()),
        age(obj, now),
    ]


def _csi_capacity(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), created(obj)]


def _priority_class(obj: JsonObject, now: float) -> list[Any]:
    default = bool(obj.get("globalDefault"))
    policy = obj.get("preemptionPolicy") or ""
    return [named(obj), obj.get("value") or 0, default, age(obj, now), policy]


def _runtime_class(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), obj.get("handler") or "", age(obj, now)]


def _webhooks(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), len(obj.get("webhooks") or ()), age(obj, now)]


def _policy(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    kind = spec.get("paramKind")
    text = f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else "<unset>"
    return [named(obj), len(spec.get("validations") or ()), text, age(obj, now)]


def _policy_binding(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    reference = spec.get("paramRef")
    text = "<unset>"
    if reference is not None and reference.get("name"):
        text = f"{reference.get('namespace') or '*'}/{reference['name']}"
    elif reference is not None and reference.get("selector") is not None:
        text = selector_in_go(reference["selector"])
    return [named(obj), spec.get("policyName") or "", text, age(obj, now)]


def _definition(obj: JsonObject, now: float) -> list[Any]:
    return [named(obj), created(obj)]


def _api_service(obj: JsonObject, now: float) -> list[Any]:
    service = spec_of(obj).get("service")
    target = f"{service.get('namespace')}/{service.get('name')}" if service else "Local"
    found = get_condition(obj, "Available") or {"status": "Unknown"}
    said = str(found["status"])
    because = "" if said == "True" or "reason" not in found else f" ({found['reason']})"
    return [named(obj), target, said + because, age(obj, now)]


def _flow_schema(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    level = (spec.get("priorityLevelConfiguration") or {}).get("name") or ""
    method = (spec.get("distinguisherMethod") or {}).get("type") or NONE
    dangling = (get_condition(obj, "Dangling") or {}).get("status") or "?"
    return [
        named(obj), level, spec.get("matchingPrecedence") or 0, method, age(obj, now), dangling,
    ]  # fmt: skip


def _priority_level(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    limited = spec.get("limited") or {}
    queuing = (limited.get("limitResponse") or {}).get("queuing") or {}
    sizes = [queuing.get(field) or NONE for field in ("queues", "handSize", "queueLengthLimit")]
    shares = limited.get("nominalConcurrencyShares")
    shown = NONE if shares is None else shares
    return [named(obj), spec.get("type") or "", shown, *sizes, age(obj, now)]


def _resource_claim(obj: JsonObject, now: float) -> list[Any]:
    status = status_of(obj)
    states = ["deleted"] if (obj.get("metadata") or {}).get("deletionTimestamp") else []
    if status.get("allocation") is None:
        states = states or ["pending"]
    else:
        states += ["allocated", *(["reserved"] if status.get("reservedFor") else [])]
    return [named(obj), ",".join(states), age(obj, now)]


def _resource_slice(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    node = spec.get("nodeName") or ""
    pool = (spec.get("pool") or {}).get("name") or ""
    return [named(obj), node, spec.get("driver") or "", pool, age(obj, now)]


ENDPOINT_SLICE = Printer(("Name", "AddressType", "Ports", "Endpoints", "Age"), _endpoint_slice)
INGRESS = Printer(("Name", "Class", "Hosts", "Address", "Ports", "Age"), _ingress)
INGRESS_CLASS = Printer(("Name", "Controller", "Parameters", "Age"), _ingress_class)
NETWORK_POLICY = Printer(("Name", "Pod-Selector", "Age"), _network_policy)
IP_ADDRESS = Printer(("Name", "ParentRef"), _ip_address)
SERVICE_CIDR = Printer(("Name", "CIDRs", "Age"), _service_cidr)
BINDING = Printer(("Name", "Role", "Age", "+Users", "+Groups", "+ServiceAccounts"), _binding)
ROLE = Printer(("Name", "Created At@"), _role)
SIGNING_REQUEST = Printer(
    ("Name", "Age", "SignerName", "Requestor", "RequestedDuration", "Condition"), _signing_request
)
LEASE = Printer(("Name", "Holder", "Age"), _lease)
STORAGE_CLASS = Printer(
    (
        "Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age",
    ),
    _storage_class,
)  # fmt: skip
ATTRIBUTES_CLASS = Printer(("Name", "DriverName", "Age"), _attributes_class)
ATTACHMENT = Printer(("Name", "Attacher=", "PV", "Node", "Attached?", "Age"), _attachment)
CSI_NODE = Printer(("Name", "Drivers#", "Age"), _csi_node)
CSI_DRIVER = Printer(
    (
        "Name", "AttachRequired?", "PodInfoOnMount?", "StorageCapacity?", "TokenRequests",
        "RequiresRepublish?", "Modes", "Age",
    ),
    _csi_driver,
)  # fmt: skip
CSI_CAPACITY = Printer(("Name", "Created At@"), _csi_capacity)
PRIORITY_CLASS = Printer(
    ("Name", "Value#", "Global-Default?", "Age", "PreemptionPolicy"), _priority_class
)
RUNTIME_CLASS = Printer(("Name", "Handler", "Age"), _runtime_class)
WEBHOOKS = Printer(("Name", "Webhooks#", "Age"), _webhooks)
POLICY = Printer(("Name", "Validations#", "ParamKind", "Age"), _policy)
POLICY_BINDING = Printer(("Name", "PolicyName", "ParamRef", "Age"), _policy_binding)
DEFINITION = Printer(("Name", "Created At@"), _definition)
API_SERVICE = Printer(("Name", "Service", "Available", "Age"), _api_service)
FLOW_SCHEMA = Printer(
    (
        "Name", "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age", "MissingPL",
    ),
    _flow_schema,
)  # fmt: skip
PRIORITY_LEVEL = Printer(
    (
        "Name", "Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit",
        "Age",
    ),
    _priority_level,
)  # fmt: skip
RESOURCE_CLAIM = Printer(("Name", "State", "Age"), _resource_claim)
RESOURCE_SLICE = Printer(("Name", "Node", "Driver", "Pool", "Age"), _resource_slice)
