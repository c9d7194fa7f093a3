from winkube.controllers.expectations import Expectations
from winkube.testing.fake_clock import FakeClock


def test_expectations_are_met_given_up_or_forgotten() -> None:
    clock = FakeClock()
    expected = Expectations(clock)
    expected.expect_creations("k", 2)
    expected.created("k")
    assert not expected.satisfied("k")
    expected.created("k")
    assert expected.satisfied("k")
    expected.expect_deletion("k", "uid")
    assert not expected.satisfied("k")
    clock.advance(expected.left("k"))
    assert expected.satisfied("k")
    assert expected.left("k") == 0.0


def test_the_cache_meets_them() -> None:
    pod = {"metadata": {"name": "p", "uid": "p"}}
    ending = {"metadata": {**pod["metadata"], "deletionTimestamp": "now"}}
    expected = Expectations(FakeClock())
    expected.expect_creations("k", 1)
    expected.observe("k", pod, pod)
    assert not expected.satisfied("k")
    expected.observe("k", None, pod)
    assert expected.satisfied("k")
    for old, new in ((pod, ending), (pod, None)):
        expected.expect_deletion("k", "p")
        expected.observe("other", old, new)
        assert not expected.satisfied("k")
        expected.observe("k", old, new)
        assert expected.satisfied("k")
