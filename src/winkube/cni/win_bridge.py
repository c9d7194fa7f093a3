"""win-bridge: one HNS endpoint per pod on an existing L2Bridge network.

Behaviour follows containernetworking/plugins ``plugins/main/windows/win-bridge``: apiVersion 2 puts
the endpoint into the HCN namespace that CNI_NETNS names, apiVersion 1 attaches it to a container.
"""

import os
import sys
from ipaddress import IPv4Address, IPv4Network, ip_interface

from winkube.cni import endpoint_policy, skel, win_bridge_v1
from winkube.cni.ipam import delegate
from winkube.cni.skel import Call
from winkube.hns.client import HnsClient
from winkube.hns.errors import HnsError
from winkube.wire import cni
from winkube.wire.cni import CniError, Json

_KEYS = (
    "cniVersion",
    "name",
    "type",
    "ipam",
    "dns",
    "capabilities",
    "apiVersion",
    "policies",
    "loopbackDSR",
    "runtimeConfig",
    "ipMasqNetwork",
)
_DSR_FIRST = ((9, 3), (10, 2))
_GATEWAY = 2  # not .1: that is the router outside; the pods' gateway is the host's own endpoint


class Plan:
    """What an ADD found out before it touches anything."""

    def __init__(self, call: Call, client: HnsClient) -> None:
        self.call, self.client = call, client
        self.conf = cni.fold(call.conf, _KEYS)
        self.network_name = str(self.conf["name"])
        self.endpoint_name = endpoint_name(call)
        self.v2 = int(self.conf.get("apiVersion") or 1) == 2
        self.ip: IPv4Address | None = None
        self.gateway = ""
        self.policies = endpoint_policy.configured(self.conf)
        self.dns = _dns(self.conf)

    def take_address(self) -> None:
        """Run IPAM, if configured (HNS can assign), then derive the policies."""
        if (self.conf.get("ipam") or {}).get("type"):
            result = delegate(self.call, "ADD")
            ips = (result or {}).get("ips") or []
            if not ips:
                raise CniError(cni.GENERIC, "IPAM plugin return is missing IP config")
            self.ip, self.gateway = to_gateway(ips[0]["address"])
        self._derive_policies()

    def _derive_policies(self) -> None:
        if self.conf.get("ipMasqNetwork"):
            network = str(self.conf["ipMasqNetwork"])
            endpoint_policy.add_masquerade(self.policies, network, v2=self.v2)
        runtime = cni.fold(self.conf.get("runtimeConfig") or {}, ("dns", "portMappings"))
        endpoint_policy.add_port_mappings(
            self.policies, runtime.get("portMappings") or [], v2=self.v2
        )
        if self.conf.get("loopbackDSR") and self.ip and _supports_dsr(self.client):
            endpoint_policy.add_loopback_dsr(self.policies, str(self.ip), v2=self.v2)

    def addresses(self) -> Json:
        """The part of the endpoint's document that says them; HNS chooses where it is empty."""
        if self.ip is None:
            return {}
        return {
            "IpConfigurations": [{"IpAddress": str(self.ip)}],
            "Routes": [{"NextHop": self.gateway, "DestinationPrefix": "0.0.0.0/0"}],
        }

    def release_address(self) -> None:
        if (self.conf.get("ipam") or {}).get("type"):
            delegate(self.call, "DEL")

    def result(self, endpoint: str, mac: str, address: str, gateway: str) -> Json:
        ip: Json = {"address": address}
        if gateway:
            ip["gateway"] = gateway
        card = {"name": endpoint, "mac": mac}
        return {"interfaces": [card], "ips": [ip], "dns": self.dns}


def endpoint_name(call: Call) -> str:
    sandbox = call.container_id
    if call.netns not in ("", "none") and ":" in call.netns:
        sandbox = call.netns.split(":", 1)[1]
    return f"{sandbox}_{call.conf['name']}"


def to_gateway(address: str) -> tuple[IPv4Address, str]:
    """The address, and the second one of its subnet."""
    interface = ip_interface(address)
    if not isinstance(interface.network, IPv4Network):
        raise CniError(cni.GENERIC, f"win-bridge cannot use the IPv6 address {address}")
    return IPv4Address(interface.ip), str(interface.network[_GATEWAY])


def _dns(conf: Json) -> Json:
    """The configuration's, its servers and searches replaced by the runtime's where it has any."""
    keys = ("nameservers", "domain", "search", "options")
    dns = cni.fold(conf.get("dns") or {}, keys)
    runtime = cni.fold(conf.get("runtimeConfig") or {}, ("dns",)).get("dns") or {}
    given = cni.fold(runtime, ("servers", "searches"))
    for key, source in (("nameservers", "servers"), ("search", "searches")):
        if given.get(source):
            dns[key] = given[source]
    return {key: dns[key] for key in keys if dns.get(key)}


def _supports_dsr(client: HnsClient) -> bool:
    try:
        answer = client.v1("GET", "/globals/version")
    except HnsError:
        return False
    version = (answer["Major"], answer["Minor"])
    nine, ten = _DSR_FIRST
    return nine <= version < (10, 0) or version >= ten


def connect(call: Call) -> HnsClient:
    socket = call.environ.get("WINKUBE_HNS_SOCKET")
    if not socket:
        raise CniError(cni.INVALID_ENVIRONMENT, "WINKUBE_HNS_SOCKET is not set")
    return HnsClient(socket)


def add(call: Call) -> Json:
    with connect(call) as client:
        plan = Plan(call, client)
        try:
            return _add_v2(plan) if plan.v2 else win_bridge_v1.add(plan)
        except (CniError, HnsError, OSError):
            plan.release_address()
            raise


def _add_v2(plan: Plan) -> Json:
    endpoint = ensure_endpoint(plan)
    configuration = endpoint["IpConfigurations"][0]
    address, prefix = configuration["IpAddress"], configuration["PrefixLength"]
    routes = endpoint.get("Routes") or []
    gateway = routes[0]["NextHop"] if routes else ""
    return plan.result(plan.endpoint_name, endpoint["MacAddress"], f"{address}/{prefix}", gateway)


def ensure_endpoint(plan: Plan) -> Json:
    """The pod's endpoint in its namespace: the one that is there, or a new one."""
    network = _network(plan)
    endpoint = _existing(plan, network)
    created = endpoint is None
    if endpoint is None:
        plan.take_address()
        endpoint = _create(plan, network)
    try:
        _enter_namespace(plan, endpoint)
    except HnsError as error:
        if created:
            plan.client.delete("Endpoint", endpoint["ID"])
        raise CniError(
            cni.GENERIC,
            f"error while AddHcnEndpoint({plan.endpoint_name},{network['ID']},{plan.call.netns}): "
            f"failed to Add endpoint to namespace: {error}",
        ) from error
    return endpoint


def _network(plan: Plan) -> Json:
    found = plan.client.list("Network", {"Name": plan.network_name})
    name = plan.network_name
    if not found:
        raise CniError(
            cni.GENERIC,
            f'error while hcn.GetNetworkByName({name}): Network name "{name}" not found',
        )
    if found[0]["Type"] not in ("L2Bridge", "L2Tunnel"):
        raise CniError(cni.GENERIC, f"network {name} is of an unexpected type: {found[0]['Type']}")
    return found[0]


def _existing(plan: Plan, network: Json) -> Json | None:
    found = plan.client.list("Endpoint", {"Name": plan.endpoint_name})
    if found and found[0]["HostComputeNetwork"] != network["ID"]:
        plan.client.delete("Endpoint", found[0]["ID"])
        return None
    return found[0] if found else None


def _create(plan: Plan, network: Json) -> Json:
    document: Json = {
        "SchemaVersion": {"Major": 2, "Minor": 0},
        "Name": plan.endpoint_name,
        "HostComputeNetwork": network["ID"],
        "Dns": {
            "Domain": plan.dns.get("domain", ""),
            "Search": plan.dns.get("search", []),
            "ServerList": plan.dns.get("nameservers", []),
            "Options": plan.dns.get("options", []),
        },
        "Policies": plan.policies,
    }
    document |= plan.addresses()
    try:
        return plan.client.create("Endpoint", document)
    except HnsError as error:
        raise CniError(
            cni.GENERIC,
            f"error while AddHcnEndpoint({plan.endpoint_name},{network['ID']},{plan.call.netns}): "
            f"failed to create the new HostComputeEndpoint: {error}",
        ) from error


def _enter_namespace(plan: Plan, endpoint: Json) -> None:
    namespace = plan.call.netns
    if endpoint["HostComputeNamespace"].upper() == namespace.upper():
        return  # a repeated ADD
    settings = {"EndpointId": endpoint["ID"]}
    request = {"ResourceType": "Endpoint", "RequestType": "Add", "Settings": settings}
    plan.client.modify("Namespace", namespace, request)


def delete(call: Call) -> None:
    with connect(call) as client:
        plan = Plan(call, client)
        plan.release_address()
        if not plan.v2:
            win_bridge_v1.delete(plan)
            return
        for endpoint in client.list("Endpoint", {"Name": plan.endpoint_name}):
            client.delete("Endpoint", endpoint["ID"])  # takes it out of its namespace too


def check(call: Call) -> None:
    """Nothing, like the original."""


def status(call: Call) -> None:
    if (cni.fold(call.conf, _KEYS).get("ipam") or {}).get("type"):
        delegate(call, "STATUS")


VERBS: dict[str, skel.Verb] = {"ADD": add, "DEL": delete, "CHECK": check, "STATUS": status}


def main() -> int:
    return skel.main(VERBS)


if __name__ == "__main__":
    os.environ.setdefault("WINKUBE_HNS_SOCKET", "")
    sys.exit(main())
