"""A container sees itself and nothing else."""

from pathlib import Path

import pytest
from tests.e2e.harness import Cluster

pytestmark = pytest.mark.root


def in_iis(cluster: Cluster, command: str) -> str:
    done = cluster.kubectl("exec", "deploy/iis", "--", "cmd", "/c", command, check=False)
    return done.stdout + done.stderr


def test_there_is_no_drive_of_the_host(iis: Cluster) -> None:
    assert "etc" not in in_iis(iis, "dir Z:\\").lower().split()


def test_other_containers_processes_are_not_there(iis: Cluster) -> None:
    listing = in_iis(iis, "tasklist").lower()
    assert listing.count("servicemonitor") + listing.count("w3wp") <= 2


def test_processes_run_without_capabilities_and_not_as_root(iis: Cluster) -> None:
    seen = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
            words = (status.parent / "cmdline").read_bytes().lower()
            group = (status.parent / "cgroup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if f"/winkube/{iis.name}/win-" not in group or b".exe" not in words:
            continue
        fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        seen += 1
        assert int(fields["CapEff"], 16) == 0
        assert int(fields["CapBnd"], 16) == 0
        assert fields["NoNewPrivs"] == "1"
        assert fields["Seccomp"] == "2"
        assert "0" not in fields["Uid"].split()
    assert seen
