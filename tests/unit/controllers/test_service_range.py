from typing import Any

import pytest

from winkube.controllers.service_range import is_needed

MANAGED = {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}


def range_of(name: str, *cidrs: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}}


def address(name: str, labels: dict[str, str] = MANAGED) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


SMALL = range_of("small", "10.9.0.0/28")
DUAL = range_of("dual", "10.9.0.0/28", "fd00:9::/112")


@pytest.mark.parametrize(
    ("range_", "others", "names", "needed"),
    [
        (SMALL, [], [], False),
        (SMALL, [], ["10.9.0.3"], True),
        (SMALL, [], ["10.9.1.3", "fd00:9::3"], False),
        # Its own address and the one that reaches all are nobody's.
        (SMALL, [], ["10.9.0.0", "10.9.0.15"], False),
        (SMALL, [range_of("wide", "10.9.0.0/16")], ["10.9.0.3"], False),
        (SMALL, [range_of("same", "10.9.0.0/28")], ["10.9.0.3"], False),
        (SMALL, [range_of("half", "10.9.0.0/29")], ["10.9.0.3"], False),
        (SMALL, [range_of("half", "10.9.0.0/29")], ["10.9.0.9"], True),
        # The last of the half is not given there.
        (SMALL, [range_of("half", "10.9.0.0/29")], ["10.9.0.7"], True),
        (DUAL, [range_of("wide", "10.9.0.0/16")], ["10.9.0.3"], False),
        (DUAL, [range_of("wide", "10.9.0.0/16")], ["fd00:9::3"], True),
        (DUAL, [range_of("wide", "10.9.0.0/16")], ["fd00:9::ffff"], True),
    ],
)
def test_a_range_is_needed_while_only_it_holds_an_address(
    range_: dict[str, Any], others: list[dict[str, Any]], names: list[str], needed: bool
) -> None:
    assert is_needed(range_, [range_, *others], map(address, names)) is needed


def test_addresses_that_others_recorded_keep_no_range() -> None:
    assert not is_needed(SMALL, [SMALL], [address("10.9.0.3", {})])
