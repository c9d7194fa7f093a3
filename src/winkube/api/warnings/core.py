"""Nodes, endpoints, service accounts, pod templates."""

from collections.abc import Iterator

from winkube.api.addresses import address_warnings, network_warnings
from winkube.api.meta import annotations_of, labels_of
from winkube.api.warnings.pod import template_warnings
from winkube.base.types import JsonObject

_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


def node_warnings(obj: JsonObject) -> Iterator[str]:
    spec = obj.get("spec") or {}
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for index, cidr in enumerate(spec.get("podCIDRs") or ()):
        yield from network_warnings(cidr, f"spec.podCIDRs[{index}]")


def endpoints_warnings(obj: JsonObject) -> Iterator[str]:
    if labels_of(obj).get("endpoints.kubernetes.io/managed-by") == "endpoint-controller":
        return
    for index, subset in enumerate(obj.get("subsets") or ()):
        for field in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(subset.get(field) or ()):
                here = f"subsets[{index}].{field}[{place}].ip"
                yield from address_warnings(address.get("ip") or "", here)


def account_warnings(obj: JsonObject) -> Iterator[str]:
    if _MOUNTABLE in annotations_of(obj):
        text = "prefer separate namespaces to isolate access to mounted secrets"
        yield f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; {text}"


def account_update_warnings(new: JsonObject, old: JsonObject) -> Iterator[str]:
    if _MOUNTABLE not in annotations_of(old):
        yield from account_warnings(new)


def pod_template_warnings(obj: JsonObject) -> Iterator[str]:
    return template_warnings(obj.get("template") or {}, "template")
