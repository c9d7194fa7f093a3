"""Secrets at rest: AES-256-GCM under one key, by resource.

The stored form begins with a mark, so that what was written before a key was configured can still
be read, and is sealed the next time it is written.
"""

import base64
import binascii
import os
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from winkube.base.errors import WinkubeError

_MARK: Final = b"wk:enc:aesgcm:v1:"
_NONCE: Final = 12
_KEY_BYTES: Final = 32
SEALED: Final = frozenset({"/registry/secrets/"})


class EncryptionError(WinkubeError):
    pass


class Encryption:
    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    @classmethod
    def load(cls, path: Path) -> "Encryption":
        """A key of 32 bytes, raw or in base64."""
        data = path.read_bytes()
        if len(data) != _KEY_BYTES:
            try:
                data = base64.b64decode(data.strip(), validate=True)
            except binascii.Error:
                data = b""
        if len(data) != _KEY_BYTES:
            raise EncryptionError(f"encryption key {path} is not {_KEY_BYTES} bytes long")
        return cls(data)

    def seal(self, prefix: str, data: bytes) -> bytes:
        if prefix not in SEALED:
            return data
        nonce = os.urandom(_NONCE)
        return _MARK + nonce + self._cipher.encrypt(nonce, data, prefix.encode())

    def unseal(self, prefix: str, data: bytes) -> bytes:
        if prefix not in SEALED or not data.startswith(_MARK):
            return data
        nonce, sealed = data[len(_MARK) :][:_NONCE], data[len(_MARK) + _NONCE :]
        try:
            return self._cipher.decrypt(nonce, sealed, prefix.encode())
        except InvalidTag as error:
            raise EncryptionError("a stored secret cannot be read with this key") from error
