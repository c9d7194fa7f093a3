"""Networking, RBAC, storage, scheduling, admission: the groups with few defaults each."""

from typing import Any, Final

from winkube.base.types import JsonObject

_RBAC: Final = "rbac.authorization.k8s.io"


def default_network_policy(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("policyTypes"):
        egress = ["Egress"] if spec.get("egress") else []
        spec["policyTypes"] = ["Ingress", *egress]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            if port.get("protocol") is None:
                port["protocol"] = "TCP"


def default_ingress(obj: JsonObject) -> None:
    spec = obj.get("spec") or {}
    if spec.get("defaultBackend") is not None and spec.get("rules") == []:
        del spec["rules"]  # shown empty only to who is told that something is missing


def default_ingress_class(obj: JsonObject) -> None:
    parameters = (obj.get("spec") or {}).get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def default_endpoint_slice(obj: JsonObject) -> None:
    for port in obj.get("ports") or ():
        if port.get("name") is None:
            port["name"] = ""
        if port.get("protocol") is None:
            port["protocol"] = "TCP"


def default_role_binding(obj: JsonObject) -> None:
    reference = obj.get("roleRef")
    if reference is not None and not reference.get("apiGroup"):
        reference["apiGroup"] = _RBAC
    for subject in obj.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _RBAC


def default_storage_class(obj: JsonObject) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def default_csi_driver(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    defaults: dict[str, Any] = {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
    }
    for field, value in defaults.items():
        if spec.get(field) is None:
            spec[field] = value


def default_flow_schema(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


def default_priority_level(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if spec.get("type") == "Exempt" and exempt is None:
        exempt = spec["exempt"] = {}
    if exempt is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)
    if limited is not None:
        for field, value in (("nominalConcurrencyShares", 30), ("lendablePercent", 0)):
            if limited.get(field) is None:
                limited[field] = value
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        if queuing is not None:
            for field, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
                queuing[field] = queuing.get(field) or value


def default_device_claim(obj: JsonObject) -> None:
    """ResourceClaim: one device, unless the request says otherwise."""
    _default_device_requests(obj.get("spec") or {})


def default_device_claim_template(obj: JsonObject) -> None:
    _default_device_requests((obj.get("spec") or {}).get("spec") or {})


def _default_device_requests(spec: JsonObject) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        for wanted in (request.get("exactly"), *(request.get("firstAvailable") or ())):
            if wanted is None:
                continue
            if not wanted.get("allocationMode"):
                wanted["allocationMode"] = "ExactCount"
            if wanted["allocationMode"] == "ExactCount" and not wanted.get("count"):
                wanted["count"] = 1


def default_priority_class(obj: JsonObject) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def default_webhooks(obj: JsonObject) -> None:
    mutating = obj.get("kind") == "MutatingWebhookConfiguration"
    for webhook in obj.get("webhooks") or ():
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("matchPolicy", "Equivalent")
        webhook.setdefault("namespaceSelector", {})
        webhook.setdefault("objectSelector", {})
        webhook.setdefault("timeoutSeconds", 10)
        if mutating:
            webhook.setdefault("reinvocationPolicy", "Never")
        for rule in webhook.get("rules") or ():
            rule.setdefault("scope", "*")
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)


def default_admission_policy(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    _default_match(spec.get("matchConstraints"))


def default_policy_binding(obj: JsonObject) -> None:
    _default_match((obj.get("spec") or {}).get("matchResources"))


def _default_match(match: JsonObject | None) -> None:
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for rule in (*(match.get("resourceRules") or ()), *(match.get("excludeResourceRules") or ())):
        rule.setdefault("scope", "*")


def default_api_service(obj: JsonObject) -> None:
    service = (obj.get("spec") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def default_definition(obj: JsonObject) -> None:
    """CustomResourceDefinition: names follow from the kind (apiextensions v1 defaults)."""
    spec = obj.setdefault("spec", {})
    names = spec.setdefault("names", {})
    if not names.get("singular"):
        names["singular"] = str(names.get("kind") or "").lower()
    if not names.get("listKind") and names.get("kind"):
        names["listKind"] = f"{names['kind']}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    status = obj.setdefault("status", {})
    if not status.get("storedVersions"):
        stored = [entry["name"] for entry in spec.get("versions") or () if entry.get("storage")]
        status["storedVersions"] = stored
