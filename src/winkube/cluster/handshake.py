"""One TLS handshake of a process with itself.

OpenSSL makes its tables when it first needs them: about 1.5 MB and some milliseconds. A process
that forks others does it once for all. No socket and no file is used, and the key is forgotten.
"""

import contextlib
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_NAME: Final = x509.Name([])
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
# Client hello; server hello; client finished; a message each way.
_ROUNDS: Final = 3


def shake_hands() -> str:
    """Both sides show a certificate, as all of the cluster's do; the protocol they agreed on."""
    with _certificate() as file:
        contexts = [
            _context(ssl.PROTOCOL_TLS_CLIENT, file),
            _context(ssl.PROTOCOL_TLS_SERVER, file),
        ]
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = contexts[0].wrap_bio(back, there)
    server = contexts[1].wrap_bio(there, back, server_side=True)
    for _ in range(_ROUNDS):
        for side in (client, server):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
    client.write(b"ask")
    server.write(server.read())
    assert client.read() == b"ask"
    return client.version() or ""


def _context(protocol: int, file: str) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(file)
    context.load_cert_chain(file)
    return context


@contextmanager
def _certificate() -> Iterator[str]:
    """Signed by itself, with its key, in a file that only this process sees."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateBuilder(_NAME, _NAME, key.public_key(), 1)
    builder = builder.not_valid_before(_EPOCH).not_valid_after(_EPOCH + timedelta(days=36500))
    encoding = serialization.Encoding.PEM
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    descriptor = os.memfd_create("handshake")
    try:
        os.write(descriptor, key.private_bytes(encoding, form, plain))
        os.write(descriptor, builder.sign(key, hashes.SHA256()).public_bytes(encoding))
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
