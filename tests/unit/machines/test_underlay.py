from ipaddress import IPv4Network

import pytest

from winkube.machines.underlay import (
    POOLS,
    InvalidUnderlayError,
    NodeSpec,
    SubnetsExhaustedError,
    UnderlaySpec,
    choose_subnet,
    host_link,
    second_address,
)

SUBNET = IPv4Network("172.30.4.0/24")


def test_the_first_free_subnet_is_chosen() -> None:
    taken = [IPv4Network("172.30.0.0/24"), IPv4Network("172.30.1.7/32"), IPv4Network("0.0.0.0/0")]
    assert choose_subnet(taken) == IPv4Network("172.30.2.0/24")


def test_a_host_that_routes_the_first_pool_gets_a_subnet_of_the_second() -> None:
    assert choose_subnet([IPv4Network("172.16.0.0/12")]) == IPv4Network("10.213.0.0/24")


def test_no_free_subnet_says_what_to_do() -> None:
    with pytest.raises(SubnetsExhaustedError, match="take a cluster down"):
        choose_subnet(POOLS)


@pytest.mark.parametrize(
    "ips", [("10.0.0.1",), ("172.30.4.1",), ("172.30.4.254",), ("172.30.4.9", "172.30.4.9")]
)
def test_addresses_that_do_not_fit_are_refused(ips: tuple[str, ...]) -> None:
    with pytest.raises(InvalidUnderlayError):
        UnderlaySpec("a", SUBNET, tuple(NodeSpec(f"n{i}", ip) for i, ip in enumerate(ips)))


def test_host_links_of_clusters_differ_and_fit_the_kernel() -> None:
    names = {host_link(name) for name in ("a", "b", "a" * 32)}
    assert len(names) == 3
    assert all(len(name) <= 15 for name in names)


def test_the_second_address_has_the_digits_of_the_first() -> None:
    assert second_address("172.30.4.11") == "fd00:172:30:4::11"
    assert second_address("10.213.0.254") == "fd00:10:213::254"
