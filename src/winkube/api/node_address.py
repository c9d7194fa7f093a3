"""Where a node's kubelet is asked for, of all the addresses the node reports."""

from typing import Final

from winkube.base.types import JsonObject

_PREFERRED: Final = ("InternalIP", "Hostname", "ExternalIP")


def listed_addresses(node: JsonObject) -> list[tuple[str, str]]:
    """(type, address) as the node has them; one of two address families has two of a type."""
    listed = (node.get("status") or {}).get("addresses") or ()
    return [(entry["type"], entry["address"]) for entry in listed]


def kubelet_address(node: JsonObject) -> str:
    """The first of the type that is preferred most; empty where there is none."""
    listed = listed_addresses(node)
    return next((ip for wanted in _PREFERRED for kind, ip in listed if kind == wanted), "")
