from pathlib import Path

from winkube.linux.cgroup import parse_hierarchies, parse_places

V1 = """\
tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,xattr,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
"""


def test_version_one_controllers_win_over_an_empty_unified_hierarchy() -> None:
    found = parse_hierarchies(V1)
    assert found.v2 is None
    assert found.v1 == {
        "cpu": Path("/sys/fs/cgroup/cpu,cpuacct"),
        "cpuacct": Path("/sys/fs/cgroup/cpu,cpuacct"),
        "memory": Path("/sys/fs/cgroup/memory"),
        "systemd": Path("/sys/fs/cgroup/systemd"),
        "unified": Path("/sys/fs/cgroup/unified"),
    }
    assert len(found.roots) == 4


def test_a_version_two_machine_has_one_root() -> None:
    found = parse_hierarchies("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n")
    assert found.roots == (Path("/sys/fs/cgroup"),)
    assert found.folder("/winkube/a", "memory") == Path("/sys/fs/cgroup/winkube/a")


def test_a_controller_that_is_not_mounted_has_no_folder() -> None:
    assert parse_hierarchies(V1).folder("/winkube", "pids") is None


def test_the_places_of_a_process_are_found_in_every_kind_of_hierarchy() -> None:
    unified = parse_hierarchies("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    assert parse_places("0::/user.slice/a:b\n", unified) == [Path("/sys/fs/cgroup/user.slice/a:b")]
    hybrid = parse_hierarchies(
        "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
        "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"
        "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\n"
    )
    text = "9:name=systemd:/\n4:cpu,cpuacct:/x\n3:hugetlb:/y\n0::/z\n"
    assert parse_places(text, hybrid) == [
        Path("/sys/fs/cgroup/systemd"),
        Path("/sys/fs/cgroup/cpu,cpuacct/x"),
        Path("/sys/fs/cgroup/unified/z"),
    ]
