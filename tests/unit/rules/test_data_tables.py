from typing import Any

import pytest
import yaml

from winkube.hns.features import FEATURES, Feature
from winkube.machines.personality import PERSONALITIES
from winkube.rules.tables import DATA, LATEST, OLDEST, load_table, runs_image, windows_versions
from winkube.rules.version import parse_range, parse_version

ALL_VERSIONS = [parse_version(f"1.{minor}") for minor in range(OLDEST.minor, LATEST.minor + 1)]
NAMES = {version.name for version in windows_versions()}


@pytest.mark.parametrize("path", sorted((DATA / "tables").glob("*.yaml")), ids=lambda p: p.name)
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


def test_host_and_image_builds_are_as_the_code_has_them() -> None:
    builds = [version.build for version in windows_versions()] + [22621, 28000]
    for host in builds:
        for image in builds:
            expected = _table_allows(host, image)
            assert runs_image(host, image) is expected, (host, image)


def _table_allows(host: int, image: int) -> bool:
    rows = [row for row in load_table("host-image") if _within(row["hosts"], host, host)]
    assert len(rows) == 1, host
    return _within(rows[0]["images"], image, host)


def _within(words: str, build: int, host: int) -> bool:
    if words == "host":
        return build == host
    for word in words.split():
        sign = word.rstrip("0123456789host")
        bound = host if word.endswith("host") else int(word[len(sign) :])
        holds = {
            "<": build < bound, "<=": build <= bound, ">": build > bound, ">=": build >= bound,
            "=": build == bound,
        }  # fmt: skip
        if not holds[sign]:
            return False
    return True


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


def test_features_of_hns_are_those_of_the_emulated_one() -> None:
    versions = [(major, minor) for major in range(7, 18) for minor in range(13)]
    rows = load_table("hns-features")
    assert len({row["feature"] for row in rows}) == len(rows)
    for row in rows:
        ranges = FEATURES[Feature(row["feature"])]
        for version in versions:
            ours = any(each.holds(version) for each in ranges)
            assert ours is any(_in_hns_range(part, version) for part in row["hns"].split(", "))


def _in_hns_range(words: str, version: tuple[int, int]) -> bool:
    first, _, last = words.partition("-")
    major, minor = (int(number) for number in first.split("."))
    return (major, minor) <= version and version[0] <= int(last or 1000)


def test_emulated_machines_are_versions_of_the_table() -> None:
    rows = {row["build"]: row for row in load_table("windows")}
    for machine in PERSONALITIES.values():
        row = rows[machine.build]
        assert machine.key in row["tags"]
        assert row["hns"] == f"{machine.hns_version[0]}.{machine.hns_version[1]}"


def test_api_versions_leave_after_they_came() -> None:
    for row in load_table("api-versions"):
        ages = [parse_version(row[key]) for key in ("added", "deprecated", "removed") if key in row]
        assert ages
        assert ages == sorted(ages, key=lambda version: version.number), row
        assert row["use"]
