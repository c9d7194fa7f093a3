"""A machine that lacks something is told what to do."""

from dataclasses import replace

from winkube.cluster.preflight import Machine, plan_problems
from winkube.cluster.spec import ClusterSpec, plan_nodes
from winkube.cluster.subnet import DUAL, PODS, SERVICES

PROGRAMS = "ip nft runc containerd ctr iptables conmon mmdebstrap x86_64-w64-mingw32-gcc"
GOOD = Machine(
    root=True,
    programs=frozenset(PROGRAMS.split()),
    cni=True,
    busybox=True,
    overlayfs=True,
    ipv6=True,
)
HYBRID = ClusterSpec(nodes=plan_nodes(1, 1))


def test_a_good_machine_has_no_problems() -> None:
    assert plan_problems(GOOD, HYBRID) == []


def test_missing_programs_are_named_with_their_packages() -> None:
    bare = replace(GOOD, programs=frozenset({"ip"}), cni=False, busybox=False)
    [problem] = plan_problems(bare, HYBRID)
    for package in (
        "containerd",
        "conmon",
        "containernetworking-plugins",
        "busybox-static",
        "runc",
    ):
        assert package in problem
    [problem] = plan_problems(bare, ClusterSpec(nodes=plan_nodes(0, 1)))
    assert "containerd" not in problem


def test_root_is_asked_for() -> None:
    [problem] = plan_problems(replace(GOOD, root=False), HYBRID)
    assert "sudo" in problem


def test_two_address_families_need_a_kernel_with_both() -> None:
    dual = replace(HYBRID, pod_subnet=PODS[DUAL], service_subnet=SERVICES[DUAL])
    assert plan_problems(GOOD, dual) == []
    old = replace(GOOD, ipv6=False)
    assert plan_problems(old, HYBRID) == []
    [problem] = plan_problems(old, dual)
    assert "--ip-family ipv4" in problem
