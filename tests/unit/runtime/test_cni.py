import json
from pathlib import Path

import pytest

from winkube.runtime.cni import (
    Attachment,
    CniError,
    CniNotReadyError,
    NetworkList,
    addresses_of,
    load_network,
    parse_network,
    plan_input,
)


def test_a_single_plugin_configuration_is_a_list_of_one() -> None:
    network = parse_network(json.dumps({"name": "n", "cniVersion": "0.3.1", "type": "win-bridge"}))
    assert [plugin["type"] for plugin in network.plugins] == ["win-bridge"]


def test_the_first_readable_file_by_name_is_used(tmp_path: Path) -> None:
    (tmp_path / "00-broken.conf").write_text("{")
    (tmp_path / "10-b.conflist").write_text(
        json.dumps({"name": "b", "cniVersion": "1.0.0", "plugins": [{"type": "x"}]})
    )
    (tmp_path / "20-c.conf").write_text(json.dumps({"name": "c", "type": "y"}))
    assert load_network(tmp_path).name == "b"


def test_an_empty_folder_is_said_in_the_words_of_runtimes(tmp_path: Path) -> None:
    with pytest.raises(CniNotReadyError, match="cni plugin not initialized"):
        load_network(tmp_path / "none")


def test_a_plugin_type_is_a_name_not_a_path() -> None:
    with pytest.raises(CniError):
        parse_network(json.dumps({"name": "n", "type": "../../bin/sh"}))


def test_only_declared_capabilities_reach_a_plugin() -> None:
    network = NetworkList("n", "1.0.0", ({"type": "p", "capabilities": {"dns": True}},))
    attachment = Attachment("c", "id", capabilities={"dns": {"servers": ["1"]}, "portMappings": []})
    data = plan_input(network, network.plugins[0], attachment, {"ips": []})
    assert data["runtimeConfig"] == {"dns": {"servers": ["1"]}}
    assert data["prevResult"] == {"ips": []}
    assert "capabilities" not in data


def test_addresses_come_from_results_of_every_version() -> None:
    assert addresses_of({"ips": [{"address": "10.0.0.2/24"}]}) == ["10.0.0.2"]
    assert addresses_of({"ip4": {"ip": "10.0.0.3/24"}}) == ["10.0.0.3"]
