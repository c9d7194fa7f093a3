import pytest
from dnslib import EDNS0, DNSRecord
from hypothesis import given
from hypothesis import strategies as st

from winkube.dns.message import (
    MAX_MESSAGE,
    BadQueryError,
    Body,
    Query,
    Rcode,
    Unanswerable,
    encode,
    parse_query,
    split_name,
)


def packet(name: str = "iis.default.svc.cluster.local", type_: str = "A") -> bytes:
    return bytes(DNSRecord.question(name, type_).pack())


def edns(size: int = 4096, version: int = 0) -> bytes:
    query = DNSRecord.question("x.cluster.local")
    query.add_ar(EDNS0(udp_len=size, version=version))
    return bytes(query.pack())


def test_a_query_is_read_with_its_name_folded_and_its_question_kept() -> None:
    query = parse_query(packet("IIS.Default"))
    assert split_name(query.name) == (b"iis", b"default")
    assert b"IIS" in query.question
    assert (query.type, query.class_, query.recursion, query.edns) == (1, 1, True, False)


@pytest.mark.parametrize(
    ("asked", "granted"), [(100, 512), (512, 512), (1232, 1232), (65535, 1232)]
)
def test_the_client_s_buffer_size_is_kept_within_bounds(asked: int, granted: int) -> None:
    assert parse_query(edns(asked)).size == granted


def test_a_later_edns_is_refused_as_such() -> None:
    with pytest.raises(BadQueryError) as failure:
        parse_query(edns(version=1))
    body = Body(failure.value.rcode, authoritative=False)
    raw = encode(failure.value.query, body, recursion_available=False, limit=512)
    answer = DNSRecord.parse(raw)
    assert (answer.header.rcode, answer.ar[0].ttl >> 24) == (0, 1)


def test_an_answer_echoes_number_question_and_recursion_bit() -> None:
    query = parse_query(packet())
    answer = DNSRecord.parse(
        encode(query, Body(Rcode.NXDOMAIN), recursion_available=True, limit=MAX_MESSAGE)
    )
    assert answer.header.id == query.id
    assert str(answer.q.qname) == "iis.default.svc.cluster.local."
    assert (answer.header.rd, answer.header.ra, answer.header.aa) == (1, 1, 1)
    assert answer.header.rcode == 3


def test_an_unknown_operation_is_refused_by_its_own_name() -> None:
    raw = bytearray(packet())
    raw[2] |= 4 << 3
    with pytest.raises(BadQueryError) as failure:
        parse_query(bytes(raw))
    body = Body(failure.value.rcode, authoritative=False)
    raw = bytearray(encode(failure.value.query, body, recursion_available=False, limit=512))
    answer = DNSRecord.parse(bytes(raw))
    assert (answer.header.opcode, answer.header.rcode) == (4, 4)


def test_what_does_not_fit_is_left_out_whole() -> None:
    query = parse_query(edns(512))
    body = Body(Rcode.NOERROR, (50, 0, 0), b"\x00" * 600)
    answer = DNSRecord.parse(encode(query, body, recursion_available=False, limit=query.size))
    assert (answer.header.tc, answer.rr, len(answer.ar)) == (1, [], 1)


def attempt(raw: bytes) -> Query | None:
    try:
        return parse_query(raw)
    except (BadQueryError, Unanswerable):
        return None


@given(st.binary(max_size=600))
def test_any_bytes_are_a_query_or_are_refused(raw: bytes) -> None:
    attempt(raw)


@given(st.data())
def test_a_damaged_query_is_a_query_or_is_refused(data: st.DataObject) -> None:
    raw = bytearray(edns())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    query = attempt(bytes(raw[: data.draw(st.integers(0, len(raw)))]))
    if query is not None:
        split_name(query.name)
