from pathlib import Path

from winkube.linux.cgroup import parse_hierarchies

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
