"""Times as Kubernetes writes them."""

from winkube.base.clock import parse_rfc3339, to_rfc3339, to_rfc3339_micro


def test_a_time_survives_the_round_trip() -> None:
    assert to_rfc3339(1.5) == "1970-01-01T00:00:01Z"
    assert to_rfc3339_micro(1.5) == "1970-01-01T00:00:01.500000Z"
    assert parse_rfc3339("1970-01-01T00:00:01.500000Z") == 1.5
    assert parse_rfc3339("1970-01-01T01:00:00+01:00") == 0.0
    assert parse_rfc3339("0000-12-31T00:00:00Z") == parse_rfc3339("0001-01-01T00:00:00Z") - 86400
