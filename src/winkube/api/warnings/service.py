"""Services."""

from collections.abc import Iterator

from winkube.api.addresses import address_warnings, network_warnings
from winkube.api.meta import annotations_of
from winkube.base.types import JsonObject

_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"


def service_warnings(obj: JsonObject) -> Iterator[str]:
    spec = obj.get("spec") or {}
    if _HINTS in annotations_of(obj):
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    yield from _address_warnings(spec)
    kind = spec.get("type")
    if kind == "ExternalName" and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if kind != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'


def _address_warnings(spec: JsonObject) -> Iterator[str]:
    kind, first = spec.get("type"), spec.get("clusterIP")
    if first not in (None, "", "None"):
        for index, address in enumerate(spec.get("clusterIPs") or ()):
            yield from address_warnings(address, f"spec.clusterIPs[{index}]")
    if kind == "ClusterIP" and first == "None":
        for field, shown in (
            ("loadBalancerIP", "loadBalancerIP"),
            ("externalIPs", "externalIPs"),
            ("sessionAffinity", "SessionAffinity"),
        ):
            if spec.get(field):
                yield f"spec.{shown} is ignored for headless services"
    for index, address in enumerate(spec.get("externalIPs") or ()):
        yield from address_warnings(address, f"spec.externalIPs[{index}]")
    if spec.get("loadBalancerIP"):
        yield from address_warnings(spec["loadBalancerIP"], "spec.loadBalancerIP")
    for index, cidr in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from network_warnings(cidr, f"spec.loadBalancerSourceRanges[{index}]")
