import socket
import struct

from winkube.linux.conntrack import Pattern, parse_flow, to_message


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


def attribute(kind: int, payload: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(payload), kind) + payload + b"\0" * (-len(payload) % 4)


def test_a_flow_of_ipv6_fits_its_port_with_and_without_the_address_asked() -> None:
    asked, answers = (socket.inet_pton(socket.AF_INET6, ip) for ip in ("fd00::a", "fd00:1::5"))
    ports = attribute(1, b"\x11") + attribute(2, b"\xc0\x00") + attribute(3, b"\x00\x35")
    original = attribute(1, attribute(4, asked)) + attribute(2, ports)
    reply = attribute(1, attribute(3, answers))
    flow = parse_flow(attribute(1 | 0x8000, original) + attribute(2 | 0x8000, reply))
    assert flow is not None
    assert flow.key == original
    assert flow.patterns == (
        Pattern(53, "fd00:1::5", target="fd00::a"),
        Pattern(53, "fd00:1::5"),
    )
    assert parse_flow(attribute(1 | 0x8000, attribute(1, attribute(4, asked)))) is None
