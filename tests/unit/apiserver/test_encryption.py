import base64
import os
from pathlib import Path

import pytest

from winkube.apiserver.encryption import Encryption, EncryptionError

SECRETS = "/registry/secrets/"


def test_sealed_secret_reads_back_and_hides_its_text() -> None:
    encryption = Encryption(os.urandom(32))
    sealed = encryption.seal(SECRETS, b"password")
    assert b"password" not in sealed
    assert encryption.unseal(SECRETS, sealed) == b"password"


def test_other_resources_and_old_values_stay_plain() -> None:
    encryption = Encryption(os.urandom(32))
    assert encryption.seal("/registry/pods/", b"x") == b"x"
    assert encryption.unseal(SECRETS, b'{"kind":"Secret"}') == b'{"kind":"Secret"}'


def test_wrong_key_is_said() -> None:
    sealed = Encryption(os.urandom(32)).seal(SECRETS, b"x")
    with pytest.raises(EncryptionError, match="cannot be read with this key"):
        Encryption(os.urandom(32)).unseal(SECRETS, sealed)


def test_key_file_may_be_raw_or_base64(tmp_path: Path) -> None:
    key = bytes(range(32))
    raw, text, short = tmp_path / "raw", tmp_path / "text", tmp_path / "short"
    raw.write_bytes(key)
    text.write_bytes(base64.b64encode(key) + b"\n")
    short.write_bytes(b"short")
    sealed = Encryption.load(raw).seal(SECRETS, b"x")
    assert Encryption.load(text).unseal(SECRETS, sealed) == b"x"
    with pytest.raises(EncryptionError, match="not 32 bytes long"):
        Encryption.load(short)
