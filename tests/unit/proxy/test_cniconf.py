import json
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from winkube.proxy.cniconf import linux_conflist, windows_conf, write_conf

CIDR = IPv4Network("10.244.3.0/24")


def test_the_linux_network_is_a_bridge_with_hairpin_and_port_mappings() -> None:
    bridge, portmap = linux_conflist([CIDR], Path("/data"))["plugins"]
    assert (bridge["type"], bridge["bridge"], bridge["hairpinMode"]) == ("bridge", "cni0", True)
    assert bridge["ipam"]["ranges"] == [[{"subnet": "10.244.3.0/24"}]]
    assert portmap["capabilities"] == {"portMappings": True}


def test_a_pod_gets_an_address_of_each_range() -> None:
    six = IPv6Network("fd00:10:244:3::/64")
    bridge, _ = linux_conflist((CIDR, six), Path("/data"))["plugins"]
    assert bridge["ipam"]["ranges"] == [
        [{"subnet": "10.244.3.0/24"}],
        [{"subnet": "fd00:10:244:3::/64"}],
    ]


def test_the_windows_network_leaves_gateway_and_host_endpoint_alone() -> None:
    conf = windows_conf("cbr0", CIDR, {}, [{"Type": "OutBoundNAT"}], Path("/data"))
    assert conf["ipam"]["rangeStart"] == "10.244.3.3"
    assert conf["policies"] == [{"name": "EndpointPolicy", "value": {"Type": "OutBoundNAT"}}]
    assert (conf["name"], conf["type"], conf["apiVersion"]) == ("cbr0", "win-bridge", 2)


def test_a_configuration_appears_whole_and_only_when_it_differs(tmp_path: Path) -> None:
    folder = tmp_path / "net.d"
    assert write_conf(folder, "x.conf", {"a": 1})
    assert not write_conf(folder, "x.conf", {"a": 1})
    assert write_conf(folder, "x.conf", {"a": 2})
    assert [path.name for path in folder.iterdir()] == ["x.conf"]
    assert json.loads((folder / "x.conf").read_text()) == {"a": 2}
