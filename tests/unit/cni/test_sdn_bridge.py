from typing import Any

import pytest

from winkube.cni import endpoint_policy
from winkube.cni.sdn_bridge import DualPlan
from winkube.cni.skel import Call
from winkube.hns.client import HnsClient
from winkube.wire.cni import CniError


def plan(**conf: Any) -> DualPlan:
    environ = {"CNI_CONTAINERID": "abc", "CNI_NETNS": "B1062982-2B18-4B4F-B3D5-A78DDB9CDD49"}
    return DualPlan(Call(environ, {"name": "cbr0", **conf}), HnsClient("/nonexistent"))


@pytest.mark.parametrize(
    "flags", [{}, {"enableDualStack": False}, {"enableDualStack": True, "loopbackDSR": True}]
)
def test_only_two_families_and_nothing_else_is_served(flags: dict[str, bool]) -> None:
    with pytest.raises(CniError, match="enableDualStack"):
        plan(optionalFlags=flags)


def test_policies_come_from_the_additional_arguments() -> None:
    nat = {"Type": "OutBoundNAT", "Settings": {}}
    arguments = [{"name": "EndpointPolicy", "value": nat}, {"name": "Other", "value": {}}]
    made = plan(optionalFlags={"enableDualStack": True}, AdditionalArgs=arguments)
    assert (made.endpoint_name, made.policies) == ("abc_cbr0", [nat])


def test_each_address_has_its_way_out() -> None:
    made = plan(optionalFlags={"enableDualStack": True})
    made.ips = [
        {"address": "10.244.1.3/24", "gateway": "10.244.1.2"},
        {"address": "fd00:10:244:1::3/64", "gateway": "fd00:10:244:1::2"},
    ]
    assert made.addresses() == {
        "IpConfigurations": [
            {"IpAddress": "10.244.1.3", "PrefixLength": 24},
            {"IpAddress": "fd00:10:244:1::3", "PrefixLength": 64},
        ],
        "Routes": [
            {"NextHop": "10.244.1.2", "DestinationPrefix": "0.0.0.0/0"},
            {"NextHop": "fd00:10:244:1::2", "DestinationPrefix": "::/0"},
        ],
    }


def test_a_host_port_of_all_addresses_has_a_twin() -> None:
    ports = {"Protocol": 6, "InternalPort": 80, "ExternalPort": 8080}
    every, one = {**ports, "VIP": ""}, {**ports, "VIP": "192.0.2.1"}
    policies: list[dict[str, Any]] = [
        {"Type": "PortMapping", "Settings": settings} for settings in (every, one)
    ]
    endpoint_policy.add_ipv6_twins(policies)
    assert [policy["Settings"] for policy in policies] == [every, one, {**every, "Flags": 2}]
