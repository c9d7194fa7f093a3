"""SPDY/3 header blocks: name-value pairs, compressed with the dictionary the specification fixes.

One HeaderCodec per connection: both directions keep zlib state across frames, so blocks have to
pass through it in the order in which they cross the wire.
"""

import struct
import zlib
from collections.abc import Mapping
from typing import Final

from winkube.base.errors import WinkubeError

MAX_BLOCK: Final = 64 * 1024

# SPDY protocol draft 3.1, section 2.6.10.1: each of these words behind its 32-bit length ...
_WORDS: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language"
    " accept-ranges age allow authorization cache-control connection content-base content-encoding"
    " content-language content-length content-location content-md5 content-range content-type date"
    " etag expect expires from host if-match if-modified-since if-none-match if-range"
    " if-unmodified-since last-modified location max-forwards pragma proxy-authenticate"
    " proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade"
    " user-agent vary via warning www-authenticate method get status 200|OK version HTTP/1.1 url"
    " public set-cookie keep-alive origin"
)
# ... and then this text.
_TEXT: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
    "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, "
    "Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdch"
    "charset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _dictionary() -> bytes:
    words = (word.replace("|", " ").encode() for word in _WORDS.split())
    return b"".join(struct.pack(">I", len(word)) + word for word in words) + _TEXT.encode()


DICTIONARY: Final = _dictionary()


class SpdyError(WinkubeError):
    """The peer broke the SPDY protocol; the connection is of no further use."""


class HeaderCodec:
    def __init__(self) -> None:
        self._compress = zlib.compressobj(level=9, zdict=DICTIONARY)
        self._decompress = zlib.decompressobj(zdict=DICTIONARY)

    def encode(self, headers: Mapping[str, str]) -> bytes:
        parts = [struct.pack(">I", len(headers))]
        for name, value in headers.items():
            for text in (name.lower().encode(), value.encode()):
                parts.append(struct.pack(">I", len(text)))
                parts.append(text)
        block = self._compress.compress(b"".join(parts))
        return block + self._compress.flush(zlib.Z_SYNC_FLUSH)

    def decode(self, block: bytes) -> dict[str, str]:
        """The pairs, names in lower case; a name's several values stay joined by NUL."""
        try:
            plain = self._decompress.decompress(block, MAX_BLOCK)
        except zlib.error as error:
            raise SpdyError(f"header block does not decompress: {error}") from error
        if self._decompress.unconsumed_tail:
            raise SpdyError("header block is too large")
        return _parse_pairs(plain)


def _parse_pairs(plain: bytes) -> dict[str, str]:
    try:
        (count,) = struct.unpack_from(">I", plain)
        offset, headers = 4, dict[str, str]()
        # Eight bytes is the least a pair takes: a count beyond that is a lie.
        if count > len(plain) // 8:
            raise SpdyError("header block counts more pairs than it holds")
        for _ in range(count):
            name, offset = _parse_text(plain, offset)
            value, offset = _parse_text(plain, offset)
            if not name or name != name.lower() or name in headers:
                raise SpdyError(f"header name {name!r} is empty, repeated or not in lower case")
            headers[name] = value
    except (struct.error, UnicodeDecodeError) as error:
        raise SpdyError(f"header block is malformed: {error}") from error
    return headers


def _parse_text(plain: bytes, offset: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">I", plain, offset)
    end = offset + 4 + length
    if end > len(plain):
        raise SpdyError("header block ends inside a text")
    return plain[offset + 4 : end].decode(), end
