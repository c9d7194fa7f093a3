import pytest

from winkube.facts.errors import VersionError
from winkube.facts.version import Version, parse_range, parse_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.24", Version(1, 24)),
        ("v1.29.3", Version(1, 29, 3)),
        ("v1.29.3+k3s1", Version(1, 29, 3)),
        ("1.37.0-rc.1", Version(1, 37, 0)),
    ],
)
def test_a_version_is_read(text: str, version: Version) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize("text", ["", "1", "latest", "1.x", "1.2.3.4"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(VersionError):
        parse_version(text)


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        (">=1.5 <1.25", ["1.5", "1.24", "1.24.17"], ["1.4", "1.25", "1.25.0"]),
        ("<=1.24", ["1.24", "1.24.9"], ["1.25.0"]),
        (">1.24", ["1.25"], ["1.24", "1.24.17"]),
        ("1.19", ["1.19", "1.19.4"], ["1.18", "1.20"]),
        ("<1.24.10 || >=1.25 <1.25.6", ["1.24.9", "1.25.5"], ["1.24", "1.25", "1.26"]),
        ("", ["1.5", "1.37"], []),
    ],
)
def test_a_range_holds_what_it_says(bounds: str, inside: list[str], outside: list[str]) -> None:
    found = parse_range(bounds)
    assert [text for text in inside if parse_version(text) not in found] == []
    assert [text for text in outside if parse_version(text) in found] == []


def test_a_range_with_rubbish_is_refused() -> None:
    with pytest.raises(VersionError):
        parse_range(">=1.5 and more")
