import pytest
from tests.second_try import refusal

LOOPBACK = "tests/integration/dns/test_server.py::test_a"
UNIT = "tests/unit/api/test_meta.py::test_a"
FAILED = pytest.ExitCode.TESTS_FAILED


def test_a_few_tests_with_clocks_are_tried_again() -> None:
    assert refusal(FAILED, [LOOPBACK]) is None


@pytest.mark.parametrize(
    ("code", "failed"),
    [
        pytest.param(FAILED, [LOOPBACK, UNIT], id="a unit test failed"),
        pytest.param(FAILED, [f"{LOOPBACK}{number}" for number in range(11)], id="many failed"),
        pytest.param(FAILED, [], id="nobody knows what failed"),
        pytest.param(pytest.ExitCode.INTERRUPTED, [LOOPBACK], id="not all could be read"),
        pytest.param(pytest.ExitCode.INTERNAL_ERROR, [LOOPBACK], id="pytest failed"),
        pytest.param(-11, [LOOPBACK], id="it crashed"),
    ],
)
def test_nothing_else_is(code: int, failed: list[str]) -> None:
    assert refusal(code, failed) is not None
