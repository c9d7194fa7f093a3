import pytest

from winkube.api.addresses import (
    address_warnings,
    network_warnings,
    parse_address,
    parse_network,
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("001.02.3.4", "1.2.3.4"),
        ("::1", "::1"),
        ("::ffff:01.2.3.4", "::ffff:1.2.3.4"),
        ("1.2.3", None),
        ("256.1.1.1", None),
        ("fe80::1%eth0", None),
        ("", None),
        (5, None),
    ],
)
def test_old_fields_read_leading_zeros_as_decimal(text: object, address: str | None) -> None:
    found = parse_address(text)
    assert (found is None) == (address is None)
    if address is not None:
        assert found == parse_address(address)


@pytest.mark.parametrize("text", ["10.0.0.0", "10.0.0.0/33", "x/8", "10.0.0.0/ 8"])
def test_a_network_has_an_address_and_a_length(text: str) -> None:
    assert parse_network(text) is None


def test_addresses_in_odd_forms_are_warned_of() -> None:
    assert list(address_warnings("1.2.3.4", "a")) == []
    assert 'use "1.2.3.4"' in next(address_warnings("01.2.3.4", "a"))
    assert 'use "1.2.3.4"' in next(address_warnings("::ffff:1.2.3.4", "a"))
    assert "RFC 5952" in next(address_warnings("FD00::0001", "a"))


def test_networks_in_odd_forms_are_warned_of() -> None:
    assert list(network_warnings("10.0.0.0/8", "a")) == []
    assert 'should be "10.0.0.0/8" or "10.0.0.1/32"?' in next(network_warnings("10.0.0.1/8", "a"))
    assert "non-standard" in next(network_warnings("010.0.0.0/8", "a"))
    assert "non-standard" in next(network_warnings("10.0.0.0/08", "a"))
    assert "RFC 5952" in next(network_warnings("FD00::/64", "a"))
