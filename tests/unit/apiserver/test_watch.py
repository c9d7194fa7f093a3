from winkube.apiserver.watch import gather_seconds


def test_nobody_waits_for_ever_because_many_follow() -> None:
    assert gather_seconds(1) < gather_seconds(1000) < gather_seconds(100_000) <= 1.0
    assert gather_seconds(10**9) == gather_seconds(10**6)
