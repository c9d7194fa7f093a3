import subprocess
import sys
from typing import Any

import pytest
import yaml

from winkube.facts.images import base_images, pause_image
from winkube.facts.life import flag_lives
from winkube.facts.table import DATA, load_table
from winkube.facts.version import LATEST, OLDEST, parse_range, parse_version
from winkube.facts.windows import runs_image, unsupported_reason, windows_versions

ALL_VERSIONS = [parse_version(f"1.{minor}") for minor in range(OLDEST.minor, LATEST.minor + 1)]
NAMES = {version.name for version in windows_versions()}


@pytest.mark.parametrize("path", sorted(DATA.glob("*.yaml")), ids=lambda p: p.name)
def test_a_table_is_not_empty_and_says_what_it_is(path: Any) -> None:
    assert path.read_text().startswith("# ")
    assert yaml.safe_load(path.read_text())


def test_every_version_of_kubernetes_has_its_windows_versions() -> None:
    rows = load_table("supported")
    assert [row["kubernetes"] for row in rows] == [str(version) for version in ALL_VERSIONS]
    for row in rows:
        assert row["windows"]
        assert row["source"]


def test_support_is_the_same_by_kubernetes_and_by_windows() -> None:
    for row in load_table("supported"):
        version = parse_version(row["kubernetes"])
        listed = {each.name for each in windows_versions() if version in each.kubernetes}
        assert set(row["windows"]) == listed, row


@pytest.mark.parametrize(
    ("host", "image", "starts"),
    [
        (17763, 17763, True),
        (17763, 14393, False),
        (17763, 20348, False),
        (20348, 20348, True),
        (20348, 17763, False),
        (22621, 20348, True),
        (26100, 20348, True),
        (26100, 26100, True),
        (26100, 17763, False),
        (26100, 28000, False),
        (28000, 26100, True),
        (28000, 20348, False),
    ],
)
def test_a_host_starts_what_its_interface_covers(host: int, image: int, starts: bool) -> None:
    # microsoft/hcsshim: osversion/platform_compat_windows.go
    assert runs_image(host, image) is starts


def test_every_version_has_one_pause_image_for_windows_it_supports() -> None:
    for version in ALL_VERSIONS:
        rows = [
            row for row in load_table("pause-images") if version in parse_range(row["kubernetes"])
        ]
        assert len(rows) == 1, version
        assert set(rows[0]["windows"]) <= NAMES
        supported = {each.name for each in windows_versions() if version in each.kubernetes}
        assert supported & set(rows[0]["windows"]), version


def test_every_version_has_a_runtime() -> None:
    rows = load_table("runtimes")
    for version in ALL_VERSIONS:
        assert any(version in parse_range(row["kubernetes"]) for row in rows), version


@pytest.mark.parametrize("program", ["kubelet", "kube-proxy"])
def test_flags_have_ranges_that_some_versions_are_outside_of(program: str) -> None:
    for flag, entry in load_table("flags")[program].items():
        known = parse_range(entry["kubernetes"])
        assert any(version in known for version in ALL_VERSIONS), flag
        assert not all(version in known for version in ALL_VERSIONS), flag


def test_emulated_machines_have_a_tag_and_an_hns() -> None:
    emulated = [version for version in windows_versions() if version.emulated is not None]
    assert len(emulated) >= 5
    for version in emulated:
        assert version.emulated is not None
        assert version.emulated.key in version.tags
        assert version.hns is not None


def test_a_kubernetes_says_why_it_has_no_nodes_of_a_windows() -> None:
    assert "Windows Server 2025" in unsupported_reason(parse_version("1.34"), 26100)
    assert not unsupported_reason(parse_version("1.34"), 20348)
    assert not unsupported_reason(parse_version("1.34"), 99999)


def test_names_on_docker_hub_are_base_images_too() -> None:
    assert base_images()["docker.io/microsoft/nanoserver"] == "nanoserver"
    assert base_images()["mcr.microsoft.com/windows/servercore/iis"] == "iis"


def test_pause_image_of_the_served_version() -> None:
    assert pause_image(parse_version("1.34")) == "registry.k8s.io/pause:3.10.1"


def test_nothing_is_read_before_it_is_asked_for() -> None:
    # A node's processes import these modules at start; parsing there would cost every start.
    code = (
        "import sys; before = 'yaml' in sys.modules;"
        "import winkube.facts.windows, winkube.facts.hns, winkube.facts.images, winkube.facts.life;"
        "from winkube.facts.table import load_table;"
        "assert 'yaml' not in sys.modules and not load_table.cache_info().currsize;"
        "winkube.facts.windows.windows_versions();"
        "assert load_table.cache_info().currsize == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_api_versions_leave_after_they_came() -> None:
    for row in load_table("api-versions"):
        ages = [parse_version(row[key]) for key in ("added", "deprecated", "removed") if key in row]
        assert ages
        assert ages == sorted(ages, key=lambda version: version.number), row
        assert row["use"]


def test_flags_that_moved_to_a_library_are_still_known() -> None:
    # k8s.io/component-base: logs/api/v1/options.go has it since the kubelet's own files do not.
    assert parse_version("1.34") in flag_lives("kubelet")["logging-format"]
    assert parse_version("1.34") not in flag_lives("kubelet")["log-dir"]
