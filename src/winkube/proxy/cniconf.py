"""CNI network configurations as documents, and writing one so that nobody reads half of it."""

import os
from collections.abc import Iterable
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Final

import orjson

from winkube.base.types import JsonObject
from winkube.proxy.family import Network

CNI_VERSION: Final = "1.0.0"
LINUX_CONF: Final = "10-winkube.conflist"
WINDOWS_CONF: Final = "10-winkube.conf"
BRIDGE: Final = "cni0"


def linux_conflist(pod_cidrs: Iterable[Network], data_dir: Path) -> JsonObject:
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "isDefaultGateway": True,
        "hairpinMode": True,
        # Addresses are translated by the node, for the whole range at once (linux_network.py).
        "ipMasq": False,
        "ipam": {
            "type": "host-local",
            "dataDir": str(data_dir),
            # A pod gets an address of each.
            "ranges": [[{"subnet": str(cidr)}] for cidr in pod_cidrs],
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}
    return {"cniVersion": CNI_VERSION, "name": "winkube", "plugins": [bridge, portmap]}


def windows_conf(
    network: str, pod_cidr: IPv4Network, dns: JsonObject, policies: list[JsonObject], data_dir: Path
) -> JsonObject:
    return {
        "cniVersion": CNI_VERSION,
        "name": network,
        "type": "win-bridge",
        "apiVersion": 2,
        "capabilities": {"dns": True, "portMappings": True},
        "dns": dns,
        "ipam": {
            "type": "host-local",
            "dataDir": str(data_dir),
            "subnet": str(pod_cidr),
            # .1 is the network's gateway, .2 the host endpoint the pods really use as one.
            "rangeStart": str(pod_cidr[3]),
        },
        "policies": [{"name": "EndpointPolicy", "value": policy} for policy in policies],
    }


def windows_dual_conf(
    network: str,
    pod_cidrs: Iterable[Network],
    dns: JsonObject,
    policies: list[JsonObject],
    data_dir: Path,
) -> JsonObject:
    """For pods with an address of each family, which win-bridge does not give."""
    ranges = [
        [{"subnet": str(cidr), "rangeStart": str(cidr[3]), "gateway": str(cidr[2])}]
        for cidr in pod_cidrs
    ]
    return {
        "cniVersion": CNI_VERSION,
        "name": network,
        "type": "sdnbridge",
        "capabilities": {"dns": True, "portMappings": True},
        "optionalFlags": {"enableDualStack": True},
        "dns": dns,
        "ipam": {"type": "host-local", "dataDir": str(data_dir), "ranges": ranges},
        "AdditionalArgs": [{"name": "EndpointPolicy", "value": policy} for policy in policies],
    }


def write_conf(directory: Path, name: str, document: dict[str, Any]) -> bool:
    """Write atomically; False when the very same text was there already."""
    path = directory / name
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if path.exists() and path.read_bytes() == text:
        return False
    directory.mkdir(parents=True, exist_ok=True)
    # Runtimes read by suffix, so the unfinished file must not end like a configuration.
    draft = directory / f".{name}.{os.getpid()}.draft"
    draft.write_bytes(text)
    draft.replace(path)
    return True
