"""Cluster files: every complaint names the field."""

from pathlib import Path
from typing import Any

import pytest

from winkube.cluster.errors import SpecError
from winkube.cluster.spec import load_spec, parse_spec, plan_nodes

BASE = {"apiVersion": "winkube.io/v1alpha1", "kind": "Cluster"}


def test_an_empty_cluster_file_is_the_default_cluster() -> None:
    spec = parse_spec(BASE)
    assert [node.name for node in spec.nodes] == ["lin-1", "win-1", "win-2"]
    assert spec.context == "winkube"
    assert spec.dns_ip == "10.96.0.10"


def test_two_families_have_two_subnets_and_the_first_is_ipv4() -> None:
    spec = parse_spec({**BASE, "networking": {"ipFamily": "dual"}})
    assert spec.is_dual
    assert spec.pod_subnet == "10.244.0.0/16,fd00:10:244::/56"
    assert spec.service_subnet == "10.96.0.0/12,fd00:10:96::/112"
    assert spec.dns_ip == "10.96.0.10"
    own = {"ipFamily": "dual", "podSubnet": "10.1.0.0/16, fd00:1::/56"}
    assert parse_spec({**BASE, "networking": own}).pod_subnet == "10.1.0.0/16,fd00:1::/56"


def test_nodes_are_numbered_by_operating_system() -> None:
    groups = [
        {"os": "windows", "windowsVersion": "ltsc2022"},
        {"os": "linux", "count": 2},
        {"os": "windows", "labels": {"pool": "b"}},
    ]
    nodes = parse_spec({**BASE, "name": "demo", "nodes": groups}).nodes
    assert [(n.name, n.windows_version) for n in nodes] == [
        ("win-1", "ltsc2022"),
        ("lin-1", ""),
        ("lin-2", ""),
        ("win-2", "ltsc2019"),
    ]
    assert nodes[3].labels == {"pool": "b"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"apiVersion": "v1"}, "apiVersion"),
        ({"kind": "Pod"}, "kind"),
        ({"nodez": []}, "the cluster file"),
        ({"name": 7}, "name"),
        ({"kubernetesVersion": "1.2"}, "kubernetesVersion"),
        ({"networking": {"podSubnet": "10.0.0.0/8x"}}, "networking.podSubnet"),
        ({"networking": {"podSubnet": "10.0.0.0/28"}}, "networking.podSubnet"),
        ({"networking": {"apiServerPort": 70000}}, "networking.apiServerPort"),
        ({"networking": {"outbound": "yes"}}, "networking.outbound"),
        ({"networking": []}, "networking"),
        ({"nodes": []}, "nodes"),
        ({"nodes": [{"os": "beos"}]}, "nodes[0].os"),
        ({"nodes": [{"os": "linux"}, {"os": "windows", "count": -1}]}, "nodes[1].count"),
        ({"nodes": [{"os": "windows", "windowsVersion": "xp"}]}, "nodes[0].windowsVersion"),
        ({"nodes": [{"os": "windows", "windowsVersion": "1803"}]}, "nodes[0].windowsVersion"),
        ({"nodes": [{"os": "linux", "windowsVersion": "1709"}]}, "nodes[0].windowsVersion"),
        ({"nodes": [{"os": "linux", "count": True}]}, "nodes[0].count"),
        ({"nodes": [{"os": "windows", "windowsVersion": 2019}]}, "nodes[0].windowsVersion"),
        ({"nodes": [{"os": "linux", "labels": {"a b": "c"}}]}, "nodes[0].labels.a b"),
        ({"nodes": [{"os": "linux", "labels": {"a": "b c"}}]}, "nodes[0].labels.a"),
        (
            {"nodes": [{"os": "linux", "labels": {"node-role.kubernetes.io/x": ""}}]},
            "nodes[0].labels.node-role.kubernetes.io/x",
        ),
        ({"networking": {"podSubnet": "10.96.0.0/16"}}, "networking.podSubnet"),
        ({"networking": {"ipFamily": "ipv6"}}, "networking.ipFamily"),
        ({"networking": {"podSubnet": "10.0.0.0/16,fd00::/56"}}, "networking.podSubnet"),
        ({"networking": {"ipFamily": "dual", "podSubnet": "10.0.0.0/16"}}, "networking.podSubnet"),
        (
            {"networking": {"ipFamily": "dual", "podSubnet": "fd00::/56,10.0.0.0/16"}},
            "networking.podSubnet",
        ),
        (
            {"networking": {"ipFamily": "dual", "serviceSubnet": "10.96.0.0/16,fd00::/124"}},
            "networking.serviceSubnet",
        ),
        (
            {"networking": {"ipFamily": "dual", "podSubnet": "10.0.0.0/16,fd00:10:96::/56"}},
            "networking.podSubnet",
        ),
        ({"kubernetesVersion": 1.30}, "kubernetesVersion"),
        ({"registries": {"docker.io": "mirror"}}, "registries.docker.io"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_field_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec({**BASE, **change})
    assert caught.value.field == field
    assert field not in caught.value.problem


@pytest.mark.parametrize(
    "content", ["[", "a: &a [*a]", "\x00", "- 1", "!!python/object:os.system {}"]
)
def test_a_file_that_is_no_cluster_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(content)
    with pytest.raises(SpecError):
        load_spec(path)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"none\.yaml"):
        load_spec(tmp_path / "none.yaml")


def test_flags_are_checked_like_the_file() -> None:
    with pytest.raises(SpecError, match="--windows"):
        plan_nodes(1, 1000)
