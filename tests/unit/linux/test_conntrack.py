import socket
import struct

from winkube.linux.conntrack import Pattern, to_message


def test_a_message_states_its_own_length_and_asks_for_an_answer() -> None:
    message = to_message(Pattern(53, "10.244.1.5", target="10.96.0.10"), 7)
    length, kind, flags, sequence, _ = struct.unpack_from("=IHHII", message)
    assert (length, kind, flags, sequence) == (len(message), 0x102, 0x5, 7)
    assert bytes([10, 96, 0, 10]) in message


def test_a_pattern_without_target_does_not_mention_one() -> None:
    short, long = (
        to_message(Pattern(53, "1.1.1.1"), 1),
        to_message(Pattern(53, "1.1.1.1", "2.2.2.2"), 1),
    )
    assert len(short) < len(long)


def test_a_pattern_of_the_other_family_is_asked_for_in_that_family() -> None:
    message = to_message(Pattern(53, "fd00:10:244:1::5", target="fd00:10:96::a"), 1)
    assert message[16] == socket.AF_INET6
    for address in ("fd00:10:244:1::5", "fd00:10:96::a"):
        assert socket.inet_pton(socket.AF_INET6, address) in message
