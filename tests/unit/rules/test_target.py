import pytest

from winkube.facts.version import LATEST, Version, parse_range
from winkube.facts.windows import runs_image
from winkube.rules.errors import TargetError
from winkube.rules.model import Holds
from winkube.rules.target import (
    parse_build,
    parse_target,
    parse_targets,
    targets_of_nodes,
    to_unsupported,
)


def test_the_default_target_is_the_current_stable() -> None:
    (target,) = parse_targets()
    assert (target.kubernetes, target.windows, target.runtime) == (LATEST, 20348, "containerd")


def test_lists_are_combined() -> None:
    targets = parse_targets(["1.19,1.34"], ["ws2019", "ws2022"])
    assert [str(each) for each in targets] == [
        "1.19/ws2019",
        "1.19/ws2022",
        "1.34/ws2019",
        "1.34/ws2022",
    ]


def test_an_old_kubernetes_means_an_old_windows() -> None:
    assert [str(each) for each in parse_targets(["1.9,1.19,1.30,1.37"])] == [
        "1.9/ws2016",
        "1.19/ws2019",
        "1.30/ws2022",
        "1.37/ws2022",
    ]


def test_a_pair_that_does_not_exist_is_named() -> None:
    assert "Kubernetes >=1.23" in to_unsupported(parse_target("1.19", "ws2022"))
    assert to_unsupported(parse_target("1.30", "ws2022")) == ""


@pytest.mark.parametrize("word", ["ws2019", "2019", "LTSC2019", "1809", "17763", "10.0.17763.6893"])
def test_a_build_has_many_names(word: str) -> None:
    assert parse_build(word) == 17763


def test_an_unknown_word_names_the_known_ones() -> None:
    with pytest.raises(TargetError, match="ws2022"):
        parse_target(windows="xp")
    with pytest.raises(TargetError, match="l2bridge"):
        parse_target(network="token-ring")


def test_targets_come_from_windows_nodes() -> None:
    info = {"kubeletVersion": "v1.31.4", "containerRuntimeVersion": "containerd://1.7.20"}
    nodes = [
        {"metadata": {"labels": {"kubernetes.io/os": "linux"}}, "status": {"nodeInfo": info}},
        {
            "metadata": {
                "labels": {
                    "kubernetes.io/os": "windows",
                    "node.kubernetes.io/windows-build": "10.0.17763",
                }
            },
            "status": {"nodeInfo": info},
        },
    ]
    (target,) = targets_of_nodes(nodes)
    assert (target.kubernetes, target.windows) == (Version(1, 31, 4), 17763)


@pytest.mark.parametrize(
    ("backend", "network"), [("vxlan", "overlay"), ("host-gw", "l2bridge"), ("udp", None)]
)
def test_flannel_notes_the_network_of_a_node(backend: str, network: str | None) -> None:
    notes = {"flannel.alpha.coreos.com/backend-type": backend}
    metadata = {"labels": {"kubernetes.io/os": "windows"}, "annotations": notes}
    (target,) = targets_of_nodes([{"metadata": metadata}])
    assert target.network == network


def test_a_rule_for_a_network_is_silent_where_no_network_is_named() -> None:
    holds = Holds(networks=frozenset({"overlay"}))
    assert not holds.at(parse_target())
    assert holds.at(parse_target(network="overlay"))
    assert not Holds(kubernetes=parse_range("<1.24")).at(parse_target("1.24"))


@pytest.mark.parametrize(
    ("host", "image", "runs"),
    [
        (17763, 17763, True),
        (17763, 20348, False),
        (20348, 17763, False),
        (26100, 20348, True),
        (26100, 17763, False),
        (27000, 20348, False),
    ],
)
def test_hosts_run_images_as_hcsshim_says(host: int, image: int, runs: bool) -> None:
    assert runs_image(host, image) is runs
