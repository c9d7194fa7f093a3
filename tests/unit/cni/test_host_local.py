import json
from pathlib import Path
from typing import Any

import pytest

from winkube.cni import host_local, skel

Json = dict[str, Any]


def conf(folder: Path, **ipam: Any) -> Json:
    base = {"type": "host-local", "subnet": "10.244.1.0/29", "dataDir": str(folder)}
    return {"cniVersion": "1.0.0", "name": "cbr0", "type": "x", "ipam": {**base, **ipam}}


def call(command: str, document: Json, container: str = "a", args: str = "") -> tuple[int, Json]:
    environ = {
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": container,
        "CNI_NETNS": "n",
        "CNI_IFNAME": "eth0",
        "CNI_PATH": "/",
        "CNI_ARGS": args,
    }
    code, text = skel.run(host_local.VERBS, environ, json.dumps(document))
    return code, json.loads(text) if text else {}


def address(document: Json, container: str, args: str = "") -> str:
    code, result = call("ADD", document, container, args)
    assert code == 0, result
    return str(result["ips"][0]["address"])


def test_the_first_address_is_the_second_of_the_subnet(tmp_path: Path) -> None:
    code, result = call("ADD", conf(tmp_path, routes=[{"dst": "0.0.0.0/0"}]))
    assert code == 0
    assert result["ips"] == [{"address": "10.244.1.2/29", "gateway": "10.244.1.1"}]
    assert result["routes"] == [{"dst": "0.0.0.0/0"}]
    assert (tmp_path / "cbr0/10.244.1.2").read_bytes() == b"a\r\neth0"
    assert (tmp_path / "cbr0/last_reserved_ip.0").read_text() == "10.244.1.2"


def test_addresses_go_round_and_a_released_one_comes_last(tmp_path: Path) -> None:
    document = conf(tmp_path)
    assert [address(document, name)[-4] for name in "abc"] == ["2", "3", "4"]
    assert call("DEL", document, "a") == (0, {})
    assert [address(document, name)[-4] for name in "def"] == ["5", "6", "2"]
    code, error = call("ADD", document, "g")
    assert code == 1
    assert error["msg"] == (
        "failed to allocate for range 0: no IP addresses available in range set: "
        "10.244.1.1-10.244.1.6"
    )


def test_the_same_interface_twice_is_an_error_and_keeps_nothing_else(tmp_path: Path) -> None:
    document = conf(tmp_path)
    address(document, "a")
    code, error = call("ADD", document, "a")
    assert code == 1
    assert "10.244.1.2 has been allocated to a, duplicate allocation is not allowed" in error["msg"]
    # It is still the first one's: nobody else may get it.
    assert call("CHECK", document, "a") == (0, {})
    assert [address(document, name)[-4] for name in "bcde"] == ["3", "4", "5", "6"]
    assert call("ADD", document, "f")[0] == 1


def test_a_requested_address_is_given_or_refused(tmp_path: Path) -> None:
    document = conf(tmp_path)
    assert address(document, "a", "IP=10.244.1.5") == "10.244.1.5/29"
    code, error = call("ADD", document, "b", "IP=10.244.1.5")
    assert (code, "requested IP address 10.244.1.5 is not available" in error["msg"]) == (1, True)
    code, error = call("ADD", document, "b", "IP=10.244.1.1")
    assert (code, "subnet's gateway" in error["msg"]) == (1, True)
    code, error = call("ADD", document, "b", "IP=10.9.9.9")
    assert (code, "failed to allocate all requested IPs: 10.9.9.9" in error["msg"]) == (1, True)
    assert not (tmp_path / "cbr0/10.244.1.6").exists()


def test_two_range_sets_give_two_addresses(tmp_path: Path) -> None:
    document = conf(tmp_path, ranges=[[{"subnet": "fd00::/64"}]])
    code, result = call("ADD", document)
    assert code == 0
    assert [row["address"] for row in result["ips"]] == ["10.244.1.2/29", "fd00::2/64"]
    assert (tmp_path / "cbr0/fd00__2").exists()
    assert call("DEL", document) == (0, {})
    assert not (tmp_path / "cbr0/fd00__2").exists()
    assert not (tmp_path / "cbr0/10.244.1.2").exists()


def test_check_finds_the_address_or_fails(tmp_path: Path) -> None:
    document = conf(tmp_path)
    address(document, "a")
    assert call("CHECK", document, "a") == (0, {})
    assert call("CHECK", document, "b")[0] == 1


@pytest.mark.parametrize(
    "ipam",
    [
        {"subnet": "10.244.1.5/24"},
        {"subnet": "10.244.1.0/31"},
        {"subnet": "bad"},
        {"subnet": None},
        {"rangeStart": "10.9.9.9"},
        {"gateway": "x"},
    ],
)
def test_bad_ranges_are_configuration_errors(tmp_path: Path, ipam: Json) -> None:
    code, error = call("ADD", conf(tmp_path, **ipam))
    assert (code, error["code"]) == (1, 7)


def test_delete_of_what_was_never_added_is_fine(tmp_path: Path) -> None:
    assert call("DEL", conf(tmp_path), "nobody") == (0, {})
