"""sdnbridge: one HNS endpoint per pod, with an address of each family, on an L2Bridge network.

Behaviour follows microsoft/windows-container-networking where ``enableDualStack`` is set: the
network has to be there, and IPAM gives one address or one of each family. What it does for a
single family is win-bridge's work here.
"""

import sys
from ipaddress import ip_interface

from winkube.cni import endpoint_policy, skel, win_bridge
from winkube.cni.ipam import delegate
from winkube.cni.skel import Call
from winkube.hns.client import HnsClient
from winkube.hns.errors import HnsError
from winkube.wire import cni
from winkube.wire.cni import CniError, Json

_DUAL = "enableDualStack"
_DEFAULTS = {4: "0.0.0.0/0", 6: "::/0"}


class DualPlan(win_bridge.Plan):
    """What an ADD found out before it touches anything."""

    def __init__(self, call: Call, client: HnsClient) -> None:
        super().__init__(call, client)
        own = cni.fold(call.conf, ("optionalFlags", "AdditionalArgs"))
        flags = cni.fold(own.get("optionalFlags") or {}, (_DUAL,))
        others = [name for name, on in flags.items() if on and name != _DUAL]
        if not flags.get(_DUAL) or others:
            words = f"not {', '.join(others)}" if others else "and it is not set"
            raise CniError(cni.INVALID_CONFIG, f"sdnbridge serves optionalFlags.{_DUAL}, {words}")
        self.policies = endpoint_policy.configured({"policies": own.get("AdditionalArgs")})
        self.ips: list[Json] = []

    def take_address(self) -> None:
        """Run IPAM, then derive the policies."""
        self.ips = (delegate(self.call, "ADD") or {}).get("ips") or []
        versions = [ip_interface(row["address"]).version for row in self.ips]
        if versions not in ([4], [4, 6]):
            raise CniError(cni.GENERIC, f"IPAM gave addresses of families {versions}, not of 4, 6")
        runtime = cni.fold(self.conf.get("runtimeConfig") or {}, ("portMappings",))
        mappings = runtime.get("portMappings") or []
        endpoint_policy.add_port_mappings(self.policies, mappings, v2=True)
        endpoint_policy.add_ipv6_twins(self.policies)

    def addresses(self) -> Json:
        rows = [(ip_interface(row["address"]), row.get("gateway") or "") for row in self.ips]
        return {
            "IpConfigurations": [
                {"IpAddress": str(each.ip), "PrefixLength": each.network.prefixlen}
                for each, _ in rows
            ],
            "Routes": [
                {"NextHop": gateway, "DestinationPrefix": _DEFAULTS[each.version]}
                for each, gateway in rows
                if gateway
            ],
        }


def add(call: Call) -> Json:
    if not call.netns:
        raise CniError(cni.INVALID_ENVIRONMENT, "CNI_NETNS is not set")
    with win_bridge.connect(call) as client:
        plan = DualPlan(call, client)
        try:
            return _to_result(plan, win_bridge.ensure_endpoint(plan))
        except (CniError, HnsError, OSError):
            plan.release_address()
            raise


def _to_result(plan: DualPlan, endpoint: Json) -> Json:
    gateways = {":" in row["NextHop"]: row["NextHop"] for row in endpoint.get("Routes") or []}
    ips = []
    for row in endpoint["IpConfigurations"]:
        ip: Json = {"address": f"{row['IpAddress']}/{row['PrefixLength']}"}
        if gateway := gateways.get(":" in row["IpAddress"]):
            ip["gateway"] = gateway
        ips.append(ip)
    card = {"name": plan.call.ifname, "mac": endpoint["MacAddress"]}
    return {"interfaces": [card], "ips": ips, "dns": plan.dns}


def delete(call: Call) -> None:
    with win_bridge.connect(call) as client:
        plan = DualPlan(call, client)
        plan.release_address()
        for endpoint in client.list("Endpoint", {"Name": plan.endpoint_name}):
            client.delete("Endpoint", endpoint["ID"])  # takes it out of its namespace too


VERBS: dict[str, skel.Verb] = {
    "ADD": add,
    "DEL": delete,
    "CHECK": win_bridge.check,
    "STATUS": win_bridge.status,
}


def main() -> int:
    return skel.main(VERBS)


if __name__ == "__main__":
    sys.exit(main())
