import pytest

from winkube.runtime import streaming_token
from winkube.runtime.streaming_token import Tokens
from winkube.testing.fake_clock import FakeClock
from winkube.wire.remotecommand import StreamRequestError


def test_token_is_good_once() -> None:
    tokens: Tokens[str] = Tokens(FakeClock())
    token = tokens.issue("session")
    assert tokens.redeem("guess") is None
    assert tokens.redeem(token) == "session"
    assert tokens.redeem(token) is None


def test_token_expires_after_a_minute() -> None:
    clock = FakeClock()
    tokens: Tokens[str] = Tokens(clock)
    first = tokens.issue("early")
    clock.advance(30.0)
    second = tokens.issue("late")
    clock.advance(31.0)
    assert tokens.redeem(first) is None
    assert tokens.redeem(second) == "late"


def test_tokens_are_bounded_and_room_comes_back() -> None:
    clock = FakeClock()
    tokens: Tokens[int] = Tokens(clock)
    for number in range(streaming_token.MAX_TOKENS):
        tokens.issue(number)
    with pytest.raises(StreamRequestError):
        tokens.issue(-1)
    clock.advance(streaming_token.LIFE_SECONDS)
    tokens.issue(-1)
