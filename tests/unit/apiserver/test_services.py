from ipaddress import ip_address
from typing import Any

import pytest

from winkube.api.addresses import service_ranges
from winkube.api.errors import InternalError, InvalidError
from winkube.apiserver.services.address import Addresses, Pool
from winkube.apiserver.services.change import drop_left_behind
from winkube.apiserver.services.families import normalise_addresses
from winkube.apiserver.services.hook import ServiceHook


def service(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "spec": {"type": "ClusterIP", "ports": [], **spec}}


def make_hook() -> ServiceHook:
    return ServiceHook("10.96.0.0/28", (30000, 30003))


def test_pool_gives_every_number_once_and_then_none() -> None:
    pool = Pool(1, 5, seed=1)
    assert sorted(pool.take_any() or 0 for _ in range(5)) == [1, 2, 3, 4, 5]
    assert pool.take_any() is None
    pool.give_back(3)
    assert pool.take_any() == 3


def test_dynamic_addresses_avoid_the_lower_band_while_they_can() -> None:
    addresses = Addresses(service_ranges("10.96.0.0/16,fd00:96::/64"))
    for family, first in (("IPv4", "10.96.0.0"), ("IPv6", "fd00:96::")):
        taken = [addresses.take_any(family) for _ in range(50)]
        lowest = int(ip_address(first)) + 256
        assert all(each is not None and int(ip_address(each[1])) > lowest for each in taken)


def test_ipv6_range_is_used_to_its_last_address() -> None:
    hook = ServiceHook("fd00:96::/125", (30000, 30003))
    made = [service() for _ in range(7)]
    for each in made:
        hook.begin(each, None)(True)
    assert {each["spec"]["clusterIP"] for each in made} == {f"fd00:96::{n}" for n in range(1, 8)}
    with pytest.raises(InternalError, match="range is full"):
        hook.begin(service(), None)


@pytest.mark.parametrize(
    "text",
    ["10.96.0.0/16,10.97.0.0/16", "10.96.0.0/16,fd00::/64,fd01::/64", "fd00::/56", "10.0.0.0/31"],
)
def test_ranges_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="range"):
        service_ranges(text)


def make_dual() -> ServiceHook:
    return ServiceHook("10.96.0.0/28,fd00:96::/112", (30000, 30003))


BOTH: dict[str, Any] = {
    "clusterIP": "10.96.0.9",
    "clusterIPs": ["10.96.0.9", "fd00:96::9"],
    "ipFamilyPolicy": "RequireDualStack",
}


def test_second_address_is_kept_from_others_until_it_is_released() -> None:
    hook = make_dual()
    first = service(**BOTH)
    hook.begin(first, None)(True)
    with pytest.raises(InvalidError, match="provided IP is already allocated"):
        hook.begin(service(clusterIP="fd00:96:0:0::9"), None)
    single = {"ipFamilyPolicy": "SingleStack", "clusterIP": None, "clusterIPs": None}
    less = service(**single, ipFamilies=["IPv4", "IPv6"])
    hook.begin(less, first)(True)
    assert less["spec"]["clusterIPs"] == ["10.96.0.9"]
    assert less["spec"]["ipFamilies"] == ["IPv4"]
    hook.begin(service(clusterIP="fd00:96::9"), None)(True)


def test_service_that_gets_a_second_family_keeps_its_first_address() -> None:
    hook = make_dual()
    old = service(clusterIP="10.96.0.9")
    hook.begin(old, None)(True)
    new = service(ipFamilyPolicy="PreferDualStack")
    hook.begin(new, old)(True)
    first, second = new["spec"]["clusterIPs"]
    assert first == "10.96.0.9" == new["spec"]["clusterIP"]
    with pytest.raises(InvalidError, match="already allocated"):
        hook.begin(service(clusterIP=second), None)


def test_refused_service_gives_back_the_address_it_had_already_taken() -> None:
    hook = make_dual()
    hook.begin(service(clusterIP="fd00:96::9"), None)(True)
    with pytest.raises(InvalidError, match="already allocated"):
        hook.begin(service(**BOTH), None)
    hook.begin(service(clusterIP="10.96.0.9"), None)(True)


def test_addresses_of_both_families_are_found_again_after_a_restart() -> None:
    hook = make_dual()
    hook.restore([service(**BOTH)])
    for address in BOTH["clusterIPs"]:
        with pytest.raises(InvalidError, match="already allocated"):
            hook.begin(service(clusterIP=address), None)


def test_failed_write_gives_the_address_back() -> None:
    hook = make_hook()
    wanted = service(clusterIP="10.96.0.9")
    hook.begin(wanted, None)(False)
    hook.begin(service(clusterIP="10.96.0.9"), None)(True)
    with pytest.raises(InvalidError, match="provided IP is already allocated"):
        hook.begin(service(clusterIP="10.96.0.9"), None)


def test_full_range_is_said() -> None:
    hook = make_hook()
    for _ in range(14):
        hook.begin(service(), None)(True)
    with pytest.raises(InternalError, match="failed to allocate a serviceIP: range is full"):
        hook.begin(service(), None)


def test_full_port_range_frees_the_address_it_took() -> None:
    hook = make_hook()
    for number in range(4):
        address = f"10.96.0.{2 + number}"
        hook.begin(service(type="NodePort", clusterIP=address, ports=[{"port": 80}]), None)(True)
    with pytest.raises(InternalError, match="failed to allocate a nodePort: range is full"):
        hook.begin(service(type="NodePort", clusterIP="10.96.0.14", ports=[{"port": 80}]), None)
    hook.begin(service(clusterIP="10.96.0.14"), None)(True)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"clusterIP": "192.168.0.1"}, "does not match the current range"),
        (
            {"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]},
            "The range of valid ports is 30000-30003",
        ),
    ],
)
def test_numbers_outside_the_range_are_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        make_hook().begin(service(**spec), None)


def test_headless_service_takes_nothing() -> None:
    spec = service(clusterIP="None")
    make_hook().begin(spec, None)(True)
    assert spec["spec"]["clusterIPs"] == ["None"]


def test_leaving_node_ports_frees_them() -> None:
    hook = make_hook()
    old = service(type="NodePort", ports=[{"port": 80, "nodePort": 30001}])
    hook.begin(old, None)(True)
    new = service(clusterIP=old["spec"]["clusterIP"], ports=[{"port": 80, "nodePort": 30001}])
    finish = hook.begin(new, old)
    drop_left_behind(new, old)
    assert "nodePort" not in new["spec"]["ports"][0]
    finish(True)
    other = service(type="NodePort", ports=[{"port": 1, "nodePort": 30001}])
    hook.begin(other, None)(True)


def test_restored_hook_knows_what_is_taken() -> None:
    hook = make_hook()
    hook.restore([service(clusterIP="10.96.0.5")])
    with pytest.raises(InvalidError):
        hook.begin(service(clusterIP="10.96.0.5"), None)


def test_the_list_of_addresses_follows_a_client_that_knows_only_one() -> None:
    old = service(clusterIP="10.96.0.2", clusterIPs=["10.96.0.2"])
    new = service(clusterIP="10.96.0.3", clusterIPs=["10.96.0.2"])
    normalise_addresses(new["spec"], old["spec"])
    assert new["spec"]["clusterIPs"] == ["10.96.0.3"]


def test_a_service_that_becomes_a_name_loses_what_others_gave_it() -> None:
    port = {"port": 80, "protocol": "TCP", "nodePort": 30001}
    held = {
        "type": "NodePort",
        "clusterIP": "10.96.0.2",
        "clusterIPs": ["10.96.0.2"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "externalTrafficPolicy": "Cluster",
        "ports": [port],
    }
    old = service(**held)
    new = service(**{**held, "type": "ExternalName", "externalName": "a.b", "ports": [dict(port)]})
    drop_left_behind(new, old)
    assert new["spec"] == {
        "type": "ExternalName",
        "externalName": "a.b",
        "ports": [{"port": 80, "protocol": "TCP"}],
    }


def test_a_service_that_is_no_load_balancer_any_more_has_no_such_address() -> None:
    old = service(type="LoadBalancer")
    status = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}, "conditions": []}
    new = {**service(), "status": status}
    drop_left_behind(new, old)
    assert new["status"] == {"loadBalancer": {}, "conditions": []}


def test_a_rehearsal_takes_nothing_and_finds_every_address_free() -> None:
    hook = make_hook()
    hook.begin(service(clusterIP="10.96.0.5"), None)(True)
    hook.begin(service(clusterIP="10.96.0.5"), None, dry_run=True)(True)
    hook.begin(service(clusterIP="10.96.0.6"), None, dry_run=True)(True)
    hook.begin(service(clusterIP="10.96.0.6"), None)(True)


def test_a_rehearsal_finds_no_port_that_somebody_has() -> None:
    hook = make_hook()

    def asking() -> dict[str, Any]:
        return service(type="NodePort", ports=[{"port": 80, "nodePort": 30001}])

    hook.begin(asking(), None, dry_run=True)(True)
    hook.begin(asking(), None)(True)
    with pytest.raises(InvalidError, match="30001: provided port is already allocated"):
        hook.begin(asking(), None, dry_run=True)


class Counted(int):
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return int.__eq__(self, other)

    __hash__ = int.__hash__


def test_many_ports_are_not_compared_each_with_each() -> None:
    hook = ServiceHook("10.96.0.0/28", (30000, 32767))
    ports = [{"port": Counted(number + 1)} for number in range(1_000)]
    Counted.compared = 0
    hook.begin(service(type="NodePort", ports=ports), None)(True)
    assert Counted.compared < 20 * len(ports)
