"""Secrets: a certificate that does not go with its key, in the words of Go's TLS library."""

import base64
import re
from collections.abc import Iterator
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from winkube.base.types import JsonObject

_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s.*?-----END \1-----", re.DOTALL)
_KEY: Final = "PRIVATE KEY"


def secret_warnings(obj: JsonObject) -> Iterator[str]:
    if obj.get("type") != "kubernetes.io/tls":
        return
    data = obj.get("data") or {}
    fault = _pair_fault(_decoded(data.get("tls.crt")), _decoded(data.get("tls.key")))
    if fault:
        yield f"tls: {fault}"


def _decoded(text: str | None) -> bytes:
    return base64.b64decode(text or "")


def _types(pem: bytes) -> list[str]:
    return [match[1].decode() for match in _BLOCK.finditer(pem)]


def _pair_fault(certificate: bytes, key: bytes) -> str:
    fault = _certificate_fault(_types(certificate)) or _key_fault(_types(key))
    if fault:
        return fault
    try:
        public = x509.load_pem_x509_certificate(certificate).public_key()
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "failed to parse private key"
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    shown = [
        half.public_bytes(serialization.Encoding.DER, form)
        for half in (public, private.public_key())
    ]
    return "" if shown[0] == shown[1] else "private key does not match public key"


def _certificate_fault(types: list[str]) -> str:
    if "CERTIFICATE" in types:
        return ""
    if not types:
        return "failed to find any PEM data in certificate input"
    if len(types) == 1 and types[0].endswith(_KEY):
        return (
            "failed to find certificate PEM data in certificate input, but did find a private "
            "key; PEM inputs may have been switched"
        )
    skipped = " ".join(types)
    return (
        'failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of '
        f"the following types: [{skipped}]"
    )


def _key_fault(types: list[str]) -> str:
    if any(kind == _KEY or kind.endswith(f" {_KEY}") for kind in types):
        return ""
    if not types:
        return "failed to find any PEM data in key input"
    if types == ["CERTIFICATE"]:
        return "found a certificate rather than a key in the PEM for the private key"
    skipped = " ".join(types)
    return (
        'failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping '
        f"PEM blocks of the following types: [{skipped}]"
    )
