import pytest

from winkube.facts.hns import Feature, features, schema_version, supports


@pytest.mark.parametrize(
    ("version", "feature", "expected"),
    [
        ((9, 2), Feature.DSR, False),
        ((9, 3), Feature.DSR, True),
        ((9, 5), Feature.DSR, True),
        ((10, 0), Feature.DSR, False),
        ((10, 2), Feature.DSR, True),
        ((13, 0), Feature.DSR, True),
        ((12, 0), Feature.L4_PROXY, False),
        ((12, 1), Feature.L4_PROXY, True),
        ((13, 0), Feature.L4_PROXY, False),
        ((11, 9), Feature.DUAL_STACK, False),
        ((7, 1), Feature.ACL_RULES, False),
        ((9, 1), Feature.V2_API, False),
        ((15, 3), Feature.MODIFY_LOAD_BALANCER, False),
        ((15, 5), Feature.MODIFY_LOAD_BALANCER, True),
    ],
)
def test_minor_numbers_count_only_at_the_bound(
    version: tuple[int, int], feature: Feature, expected: bool
) -> None:
    assert supports(version, feature) is expected


def test_every_feature_has_a_range() -> None:
    assert set(features()) == set(Feature)
    assert all(features().values())


def test_schema_versions_follow_builds() -> None:
    assert schema_version((9, 5)) == (2, 0)
    assert schema_version((13, 3)) == (2, 11)
    assert schema_version((15, 5)) == (2, 16)
    assert schema_version((7, 2)) == (1, 0)
