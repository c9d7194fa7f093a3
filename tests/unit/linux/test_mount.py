from pathlib import Path

from winkube.linux.mount import parse_mountinfo


def test_mount_points_with_spaces_are_unescaped() -> None:
    text = "36 35 98:0 / /mnt/a\\040b rw - ext4 /dev/sda rw\n37 35 0:4 / /proc rw - proc p rw\n"
    assert parse_mountinfo(text) == [Path("/mnt/a b"), Path("/proc")]
