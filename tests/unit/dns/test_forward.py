import pytest
from dnslib import DNSRecord

from winkube.dns.config import DnsConfig, parse_upstream
from winkube.dns.errors import ConfigError
from winkube.dns.forward import fast_failure, is_answer
from winkube.dns.message import HEADER, Rcode, parse_query


@pytest.mark.parametrize(
    ("name", "rcode"),
    [
        ("iis", Rcode.NXDOMAIN),
        (".", Rcode.NXDOMAIN),
        ("printer.local", Rcode.NXDOMAIN),
        ("web.test", Rcode.NXDOMAIN),
        ("1.0.0.10.in-addr.arpa", Rcode.NXDOMAIN),
        ("www.example.com", Rcode.SERVFAIL),
    ],
)
def test_without_servers_to_ask_certain_names_are_final(name: str, rcode: Rcode) -> None:
    query = parse_query(bytes(DNSRecord.question(name).pack()))
    assert fast_failure(query).rcode == rcode


def test_only_the_answer_to_this_very_question_counts() -> None:
    asked = DNSRecord.question("www.example.com")
    raw = bytes(asked.pack())
    question, number = raw[HEADER.size :], raw[:2]
    answer = bytes(asked.reply().pack())
    assert is_answer(answer, number, question)
    assert not is_answer(raw, number, question)
    assert not is_answer(b"\x00\x00" + answer[2:], b"\x12\x34", question)
    other = bytes(DNSRecord.question("www.example.net").reply().pack())
    assert not is_answer(number + other[2:], number, question)
    assert not is_answer(b"", number, question)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("192.0.2.53", ("192.0.2.53", 53)), ("192.0.2.53:5353", ("192.0.2.53", 5353))],
)
def test_an_upstream_is_an_address_with_or_without_a_port(
    text: str, expected: tuple[str, int]
) -> None:
    assert parse_upstream(text) == expected


@pytest.mark.parametrize("text", ["", "dns.example.com", "192.0.2.53:x", "192.0.2.53:99999"])
def test_a_bad_upstream_is_refused_at_the_start(text: str) -> None:
    with pytest.raises(ConfigError):
        DnsConfig((("127.0.0.1", 53),), upstreams=(text,))
