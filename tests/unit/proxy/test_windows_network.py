import json
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Interface, IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

import pytest

from winkube.proxy import windows_network
from winkube.proxy.windows_network import WindowsNetwork, ensure_windows_network

MakeHns = Callable[..., Any]
WANTED = WindowsNetwork(
    name="cbr0",
    pod_cidr=IPv4Network("10.244.1.0/24"),
    node=IPv4Interface("172.30.0.12/24"),
    cluster_cidr="10.244.0.0/16",
    service_cidr="10.96.0.0/12",
    cluster_dns="10.96.0.10",
    cluster_domain="cluster.local",
)


@pytest.fixture(autouse=True)
def _forwarding_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The kernel's knob belongs to the machine the tests run on.
    monkeypatch.setattr(windows_network, "_FORWARDING", tmp_path / "ip_forward")


async def test_network_host_endpoint_and_configuration_come_up_once(
    make_hns: MakeHns, tmp_path: Path
) -> None:
    hns = make_hns()
    for _ in range(2):
        await ensure_windows_network(hns, WANTED, tmp_path / "net.d", tmp_path / "data")
    (network,) = hns.all("Network")
    assert network["Ipams"][0]["Subnets"][0]["Routes"][0]["NextHop"] == "10.244.1.1"
    (endpoint,) = hns.all("Endpoint")
    assert endpoint["Name"] == "cbr0_ep"
    assert endpoint["IpConfigurations"][0]["IpAddress"] == "10.244.1.2"
    assert hns.attached == [endpoint["ID"]]
    conf = json.loads((tmp_path / "net.d/10-winkube.conf").read_text())
    nat, services, node = [policy["value"] for policy in conf["policies"]]
    assert nat["Settings"]["Exceptions"] == ["10.244.0.0/16", "10.96.0.0/12", "172.30.0.0/24"]
    assert services["Settings"] == {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": True}
    assert node["Settings"] == {"DestinationPrefix": "172.30.0.12/32", "NeedEncap": True}
    assert conf["dns"] == {"nameservers": ["10.96.0.10"], "search": ["svc.cluster.local"]}


async def test_a_network_with_another_pod_range_is_made_again(
    make_hns: MakeHns, tmp_path: Path
) -> None:
    hns = make_hns()
    subnet = {"IpAddressPrefix": "10.244.7.0/24"}
    old = hns.seed("Network", Name="cbr0", Type="L2Bridge", Ipams=[{"Subnets": [subnet]}])
    await ensure_windows_network(hns, WANTED, tmp_path / "net.d", tmp_path / "data")
    (network,) = hns.all("Network")
    assert network["ID"] != old


async def test_a_host_endpoint_with_another_address_is_made_again(
    make_hns: MakeHns, tmp_path: Path
) -> None:
    hns = make_hns()
    await ensure_windows_network(hns, WANTED, tmp_path / "net.d", tmp_path / "data")
    (endpoint,) = hns.documents["Endpoint"].values()
    endpoint["IpConfigurations"] = [{"IpAddress": "10.244.1.9"}]
    await ensure_windows_network(hns, WANTED, tmp_path / "net.d", tmp_path / "data")
    (endpoint,) = hns.all("Endpoint")
    assert endpoint["IpConfigurations"][0]["IpAddress"] == "10.244.1.2"
    assert len(hns.attached) == 2


async def test_a_network_of_two_families_has_a_subnet_of_each(
    make_hns: MakeHns, tmp_path: Path
) -> None:
    hns = make_hns()
    second = IPv6Network("fd00:10:244:1::/64")
    wanted = replace(WANTED, second_cidr=second, second_services="fd00:10:96::/112")
    # One that has only the first subnet is not enough.
    await ensure_windows_network(hns, WANTED, tmp_path / "net.d", tmp_path / "data")
    for _ in range(2):
        await ensure_windows_network(hns, wanted, tmp_path / "net.d", tmp_path / "data")
    (network,) = hns.all("Network")
    hops = [row["Routes"][0] for row in network["Ipams"][0]["Subnets"]]
    assert hops == [
        {"NextHop": "10.244.1.1", "DestinationPrefix": "0.0.0.0/0"},
        {"NextHop": "fd00:10:244:1::1", "DestinationPrefix": "::/0"},
    ]
    ours = [e for e in hns.all("Endpoint") if e["HostComputeNetwork"] == network["ID"]]
    (endpoint,) = ours
    addresses = [row["IpAddress"] for row in endpoint["IpConfigurations"]]
    assert addresses == ["10.244.1.2", "fd00:10:244:1::2"]
    conf = json.loads((tmp_path / "net.d/10-winkube.conf").read_text())
    assert (conf["type"], conf["optionalFlags"]) == ("sdnbridge", {"enableDualStack": True})
    assert [row[0]["gateway"] for row in conf["ipam"]["ranges"]] == addresses
    last = conf["AdditionalArgs"][-1]["value"]["Settings"]
    assert last == {"DestinationPrefix": "fd00:10:96::/112", "NeedEncap": True}
