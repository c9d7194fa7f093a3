"""Ingresses, network policies, endpoint slices, addresses of load balancers."""

from collections.abc import Iterator
from typing import Final

from winkube.api.addresses import address_warnings, network_warnings
from winkube.api.meta import annotations_of, labels_of
from winkube.base.types import JsonObject

INGRESS_CLASS_NOTE: Final = "kubernetes.io/ingress.class"
# They mend what they were given before they write it down.
_CAREFUL: Final = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


def ingress_warnings(obj: JsonObject) -> Iterator[str]:
    named = (obj.get("spec") or {}).get("ingressClassName") is not None
    if INGRESS_CLASS_NOTE in annotations_of(obj) and not named:
        yield (
            f'annotation "{INGRESS_CLASS_NOTE}" is deprecated, please use '
            "'spec.ingressClassName' instead"
        )


def balancer_warnings(obj: JsonObject) -> Iterator[str]:
    """Of the status of a service or an ingress."""
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    for index, entry in enumerate(balancer.get("ingress") or ()):
        yield from address_warnings(entry.get("ip") or "", f"status.loadBalancer.ingress[{index}]")


def policy_warnings(obj: JsonObject) -> Iterator[str]:
    spec = obj.get("spec") or {}
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            for place, peer in enumerate(rule.get(side) or ()):
                here = f"spec.{direction}[{index}].{side}[{place}].ipBlock"
                yield from _block_warnings(peer.get("ipBlock") or {}, here)


def _block_warnings(block: JsonObject, path: str) -> Iterator[str]:
    yield from network_warnings(block.get("cidr") or "", f"{path}.cidr")
    for index, cidr in enumerate(block.get("except") or ()):
        yield from network_warnings(cidr, f"{path}.except[{index}]")


def slice_warnings(obj: JsonObject) -> Iterator[str]:
    if obj.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    yield from slice_update_warnings(obj)


def slice_update_warnings(obj: JsonObject) -> Iterator[str]:
    if labels_of(obj).get("endpointslice.kubernetes.io/managed-by") in _CAREFUL:
        return
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        for place, address in enumerate(endpoint.get("addresses") or ()):
            yield from address_warnings(address, f"endpoints[{index}].addresses[{place}]")
