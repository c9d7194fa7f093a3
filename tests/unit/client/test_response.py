"""Responses come in pieces of any size, and not all that answers speaks HTTP."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winkube.client.response import HEAD_LIMIT, BrokenResponseError, Response

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
    b"5\r\nhello\r\nA;note=1\r\n, over the\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\n"
)
CONTINUED = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"


def read(*parts: bytes) -> tuple[Response, bytes]:
    response = Response()
    body = b"".join(piece for part in parts for piece in response.feed(part))
    return response, body


@pytest.mark.parametrize(
    ("data", "status", "body"),
    [(LENGTH, 200, b"hello"), (CHUNKED, 200, b"hello, over the!"), (CONTINUED, 201, b"ok")],
)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_any_cut_gives_the_same_answer(data: bytes, status: int, body: bytes, size: int) -> None:
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    response, found = read(*parts)
    assert (response.status, found, response.done, response.reusable) == (status, body, True, True)


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=8), st.integers(1, 50))
def test_chunks_are_joined(chunks: list[bytes], size: int) -> None:
    coded = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    data = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + coded
    response, body = read(*(data[at : at + size] for at in range(0, len(data), size)))
    assert body == b"".join(chunks)
    assert response.reusable


def test_headers_are_found_by_their_lower_case_name() -> None:
    response, _ = read(b"HTTP/1.1 429 Too Many\r\nRetry-AFTER:  3 \r\ncontent-length: 0\r\n\r\n")
    assert response.headers["retry-after"] == "3"
    assert response.done


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        LENGTH + b"and more",
        LENGTH[:-1],
    ],
)
def test_connections_that_carry_nothing_more(head: bytes) -> None:
    assert not read(head)[0].reusable


def test_a_body_without_length_ends_with_the_connection() -> None:
    response, body = read(b"HTTP/1.1 200 OK\r\n\r\nso", b" long")
    assert (body, response.done) == (b"so long", False)
    response.end()
    assert response.done
    assert not response.reusable


def test_no_body_comes_with_204() -> None:
    assert read(b"HTTP/1.1 204 No Content\r\n\r\n")[0].reusable


@pytest.mark.parametrize("data", [b"", LENGTH[:10], LENGTH[:-1], CHUNKED[:-2]])
def test_an_answer_cut_off_is_told(data: bytes) -> None:
    response, _ = read(data)
    with pytest.raises(BrokenResponseError, match="before the answer did"):
        response.end()


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 two OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x" * (HEAD_LIMIT + 1),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1_0\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5000,
    ],
)
def test_what_is_no_answer_raises(data: bytes) -> None:
    with pytest.raises(BrokenResponseError):
        read(data)


@given(st.binary(max_size=400))
def test_noise_raises_nothing_else(noise: bytes) -> None:
    for data in (noise, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + noise):
        try:
            read(data)
        except BrokenResponseError:
            continue
