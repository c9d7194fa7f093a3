"""The pod network of a Windows node: HNS network, host endpoint, win-bridge configuration.

The order is that of flannel's host-gateway backend (flannel-io/flannel:
pkg/backend/hostgw/hostgw_windows.go): network, management address, host endpoint, forwarding.
"""

import asyncio
import logging
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network, IPv6Network
from pathlib import Path
from typing import Final

from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.proxy.cniconf import WINDOWS_CONF, windows_conf, windows_dual_conf, write_conf
from winkube.proxy.errors import PodNetworkError
from winkube.proxy.family import Network
from winkube.proxy.hnsapi import SCHEMA_2_0, Hns, find_network

HOST_COMPARTMENT: Final = 1
ADAPTER: Final = "Ethernet"
_MANAGEMENT_WAIT_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.1
_ALREADY_ATTACHED: Final = "already attached"
_FORWARDING: Final = Path("/proc/sys/net/ipv4/ip_forward")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WindowsNetwork:
    """Everything that follows from a node's place in the cluster."""

    name: str
    pod_cidr: IPv4Network
    node: IPv4Interface
    cluster_cidr: str
    service_cidr: str
    cluster_dns: str
    cluster_domain: str
    # Where HNS can give pods an address of the other family too.
    second_cidr: IPv6Network | None = None
    second_services: str = ""

    @property
    def cidrs(self) -> tuple[Network, ...]:
        return (self.pod_cidr, self.second_cidr) if self.second_cidr else (self.pod_cidr,)

    @property
    def endpoint_name(self) -> str:
        return f"{self.name}_ep"

    def network_document(self) -> JsonObject:
        subnets = [{"IpAddressPrefix": str(c), "Routes": [_way_out(c)]} for c in self.cidrs]
        adapter = {"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": ADAPTER}}
        return {
            "Name": self.name,
            "Type": "L2Bridge",
            "Ipams": [{"Type": "Static", "Subnets": subnets}],
            "Policies": [adapter],
            "Dns": {"ServerList": [self.cluster_dns]},
            "SchemaVersion": SCHEMA_2_0,
        }

    def endpoint_document(self, network_id: str) -> JsonObject:
        return {
            "Name": self.endpoint_name,
            "HostComputeNetwork": network_id,
            "IpConfigurations": [
                {"IpAddress": str(c[2]), "PrefixLength": c.prefixlen} for c in self.cidrs
            ],
            "Routes": [_way_out(cidr) for cidr in self.cidrs],
            "SchemaVersion": SCHEMA_2_0,
        }

    def pod_policies(self) -> list[JsonObject]:
        """No translation inside; service and own-node traffic by way of the host (seed 002)."""
        inside = [self.cluster_cidr, self.service_cidr, str(self.node.network)]
        routes = [self.service_cidr, f"{self.node.ip}/32"]
        routes += [self.second_services] if self.second_services else []
        nat = {"Type": "OutBoundNAT", "Settings": {"Exceptions": inside}}
        return [nat] + [
            {"Type": "SDNRoute", "Settings": {"DestinationPrefix": to, "NeedEncap": True}}
            for to in routes
        ]

    def fits(self, network: JsonObject) -> bool:
        prefixes = {
            subnet.get("IpAddressPrefix")
            for ipam in network.get("Ipams") or ()
            for subnet in ipam.get("Subnets") or ()
        }
        wanted = {str(cidr) for cidr in self.cidrs}
        return network.get("Type", "").lower() == "l2bridge" and wanted <= prefixes

    def cni_conf(self, data_dir: Path) -> JsonObject:
        dns = {"nameservers": [self.cluster_dns], "search": [f"svc.{self.cluster_domain}"]}
        policies = self.pod_policies()
        if self.second_cidr is None:
            return windows_conf(self.name, self.pod_cidr, dns, policies, data_dir)
        return windows_dual_conf(self.name, self.cidrs, dns, policies, data_dir)


def _way_out(cidr: Network) -> JsonObject:
    everywhere = "0.0.0.0/0" if cidr.version == 4 else "::/0"
    return {"NextHop": str(cidr[1]), "DestinationPrefix": everywhere}


async def ensure_windows_network(
    hns: Hns, wanted: WindowsNetwork, conf_dir: Path, data_dir: Path
) -> None:
    network = await _ensure_network(hns, wanted)
    await _wait_for_management_address(hns, network["ID"])
    await _ensure_host_endpoint(hns, wanted, network["ID"])
    await asyncio.to_thread(_FORWARDING.write_text, "1\n")
    conf = wanted.cni_conf(data_dir)
    if await asyncio.to_thread(write_conf, conf_dir, WINDOWS_CONF, conf):
        log.info("pod network ready", extra={"pod_cidr": str(wanted.pod_cidr)})


async def _ensure_network(hns: Hns, wanted: WindowsNetwork) -> JsonObject:
    network = await find_network(hns, wanted.name)
    if network is not None and wanted.fits(network):
        return network
    if network is not None:
        # The node was given another pod range: its pods' addresses are void anyway.
        log.warning("pod network does not fit, making it again", extra={"network": network["ID"]})
        await hns.delete("Network", network["ID"])
    return await hns.create("Network", wanted.network_document())


async def _wait_for_management_address(hns: Hns, network_id: str) -> None:
    """HNS fills the address in some time after it has made the switch."""
    try:
        async with asyncio.timeout(_MANAGEMENT_WAIT_SECONDS):
            while True:
                if _has_management_address(await hns.query("Network", network_id)):
                    return
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise PodNetworkError(f"network {network_id} got no management address") from None


def _has_management_address(network: JsonObject) -> bool:
    return any(
        policy.get("Type") == "ProviderAddress"
        and (policy.get("Settings") or {}).get("ProviderAddress")
        for policy in network.get("Policies") or ()
    )


async def _ensure_host_endpoint(hns: Hns, wanted: WindowsNetwork, network_id: str) -> None:
    endpoint = await _host_endpoint(hns, wanted, network_id)
    body = {"SystemType": "Host", "CompartmentId": HOST_COMPARTMENT}
    try:
        await hns.v1("POST", f"/endpoints/{endpoint['ID']}/attach", body)
    except WinkubeError as error:
        # flannel goes by these words too: there is no other way to tell.
        if _ALREADY_ATTACHED not in str(error):
            raise


async def _host_endpoint(hns: Hns, wanted: WindowsNetwork, network_id: str) -> JsonObject:
    document = wanted.endpoint_document(network_id)
    for endpoint in await hns.list("Endpoint", {"VirtualNetwork": network_id}):
        if endpoint.get("Name") != wanted.endpoint_name:
            continue
        addresses = {c.get("IpAddress") for c in endpoint.get("IpConfigurations") or ()}
        if {row["IpAddress"] for row in document["IpConfigurations"]} <= addresses:
            return endpoint
        await hns.delete("Endpoint", endpoint["ID"])
    return await hns.create("Endpoint", document)
