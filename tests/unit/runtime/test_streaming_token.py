import pytest

from winkube.runtime import streaming_token
from winkube.runtime.streaming_token import Tokens
from winkube.wire.remotecommand import StreamRequestError


class HandClock:
    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


def test_token_is_good_once() -> None:
    tokens: Tokens[str] = Tokens(HandClock())
    token = tokens.issue("session")
    assert tokens.redeem("guess") is None
    assert tokens.redeem(token) == "session"
    assert tokens.redeem(token) is None


def test_token_expires_after_a_minute() -> None:
    clock = HandClock()
    tokens: Tokens[str] = Tokens(clock)
    first = tokens.issue("early")
    clock.time = 30.0
    second = tokens.issue("late")
    clock.time = 61.0
    assert tokens.redeem(first) is None
    assert tokens.redeem(second) == "late"


def test_tokens_are_bounded_and_room_comes_back() -> None:
    clock = HandClock()
    tokens: Tokens[int] = Tokens(clock)
    for number in range(streaming_token.MAX_TOKENS):
        tokens.issue(number)
    with pytest.raises(StreamRequestError):
        tokens.issue(-1)
    clock.time = streaming_token.LIFE_SECONDS
    tokens.issue(-1)
