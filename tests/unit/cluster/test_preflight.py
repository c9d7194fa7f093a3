"""A machine that lacks something is told what to do."""

from dataclasses import replace

from winkube.cluster.preflight import Machine, plan_problems
from winkube.cluster.spec import ClusterSpec, plan_nodes

PROGRAMS = "ip nft runc containerd ctr iptables conmon mmdebstrap x86_64-w64-mingw32-gcc"
GOOD = Machine(
    root=True, programs=frozenset(PROGRAMS.split()), cni=True, busybox=True, overlayfs=True
)
HYBRID = ClusterSpec(nodes=plan_nodes(1, 1))


def test_a_good_machine_has_no_problems() -> None:
    assert plan_problems(GOOD, HYBRID) == []


def test_missing_programs_are_named_with_their_packages() -> None:
    bare = Machine(root=True, programs=frozenset({"ip"}), cni=False, busybox=False, overlayfs=True)
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
