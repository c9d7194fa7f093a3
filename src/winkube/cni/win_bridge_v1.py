"""win-bridge with apiVersion 1: flat documents, and endpoints attached to containers by id.

The runtime of that time gives the sandbox the network ``none`` and then asks again for every other
container; only the sandbox creates the endpoint.
"""

from typing import TYPE_CHECKING

from winkube.hns.errors import Code, HnsError
from winkube.wire import cni
from winkube.wire.cni import CniError, Json

if TYPE_CHECKING:
    from winkube.cni.win_bridge import Plan


def add(plan: "Plan") -> Json:
    network = _network(plan)
    endpoint = _existing(plan, network)
    created = endpoint is None
    if endpoint is None:
        if plan.call.netns != "none":
            raise CniError(
                cni.GENERIC,
                f"failed to find HNSEndpoint {plan.endpoint_name}: endpoint does not exist",
            )
        plan.take_address()
        endpoint = _create(plan, network)
    _attach(plan, endpoint, created=created)
    prefix = network["Subnets"][0]["AddressPrefix"].rpartition("/")[2]
    # Splitting an empty string leaves one empty item, in the original and so here.
    plan.dns = {
        "domain": endpoint["DNSDomain"],
        "nameservers": endpoint["DNSServerList"].split(","),
        "search": endpoint["DNSSuffix"].split(","),
    }
    address = f"{endpoint['IPAddress']}/{prefix}"
    return plan.result(
        plan.endpoint_name, endpoint["MacAddress"], address, endpoint["GatewayAddress"]
    )


def _network(plan: "Plan") -> Json:
    name = plan.network_name
    rows: list[Json] = plan.client.v1("GET", "/networks/")
    for row in rows:
        if row["Name"] == name:
            if row["Type"].lower() not in ("l2bridge", "l2tunnel"):
                message = f"network {name} is of an unexpected type: {row['Type']}"
                raise CniError(cni.GENERIC, message)
            return row
    message = f'error while hcsshim.GetHNSNetworkByName({name}): Network "{name}" not found'
    raise CniError(cni.GENERIC, message)


def _existing(plan: "Plan", network: Json) -> Json | None:
    rows: list[Json] = plan.client.v1("GET", "/endpoints/")
    for row in rows:
        if row["Name"] == plan.endpoint_name:
            if row["VirtualNetwork"] == network["ID"]:
                return row
            plan.client.v1("DELETE", f"/endpoints/{row['ID']}")
    return None


def _create(plan: "Plan", network: Json) -> Json:
    body: Json = {
        "Name": plan.endpoint_name,
        "VirtualNetwork": network["ID"],
        "DNSServerList": ",".join(plan.dns.get("nameservers", [])),
        "DNSSuffix": ",".join(plan.dns.get("search", [])),
        "Policies": plan.policies,
    }
    if plan.ip is not None:
        body |= {"IPAddress": str(plan.ip), "GatewayAddress": plan.gateway}
    try:
        created: Json = plan.client.v1("POST", "/endpoints/", body)
    except HnsError as error:
        raise CniError(
            cni.GENERIC,
            f"error while ProvisionEndpoint({plan.endpoint_name},{network['ID']},"
            f"{plan.call.container_id}): failed to create the new HNSEndpoint: {error}",
        ) from error
    return created


def _attach(plan: "Plan", endpoint: Json, *, created: bool) -> None:
    body = {"ContainerId": plan.call.container_id, "SystemType": "Container"}
    path = f"/endpoints/{endpoint['ID']}"
    try:
        plan.client.v1("POST", f"{path}/attach", body)
    except HnsError as error:
        if created:
            plan.client.v1("DELETE", path)
            raise
        tolerated = (Code.COMPUTE_SYSTEM_DOES_NOT_EXIST, Code.ENDPOINT_ALREADY_ATTACHED)
        if error.code not in tolerated:
            raise


def delete(plan: "Plan") -> None:
    """Never fails: a pod that is gone must not come back because its network is, too."""
    if not plan.call.netns:
        return
    rows: list[Json] = plan.client.v1("GET", "/endpoints/")
    for row in rows:
        if row["Name"] == plan.endpoint_name:
            _remove(plan, row["ID"])


def _remove(plan: "Plan", guid: str) -> None:
    try:
        if plan.call.netns == "none":
            plan.client.v1("DELETE", f"/endpoints/{guid}")
        else:
            plan.client.v1("POST", f"/endpoints/{guid}/detach", {})
    except HnsError:
        return
