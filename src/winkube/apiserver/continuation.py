"""The token with which a list goes on where a page ended.

As upstream makes and reads it (k8s.io/apiserver: pkg/storage/continue.go).
"""

import base64
import posixpath
import string
from typing import Any, Final

import orjson

from winkube.api.decode import MalformedError, parse_json
from winkube.api.errors import BadRequestError
from winkube.api.patch import json_name

_VERSION: Final = "meta.k8s.io/v1"
_ALPHABET: Final = frozenset(string.ascii_letters + string.digits + "-_")
_TYPES: Final = {"v": (str, "string"), "rv": (int, "int64"), "start": (str, "string")}


def make_token(revision: int, start: str) -> str:
    data = orjson.dumps({"v": _VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def open_token(text: str) -> tuple[int, str]:
    token = _document(text)
    version, revision, start = token.get("v") or "", token.get("rv") or 0, token.get("start") or ""
    if version != _VERSION:
        raise _invalid(f": server does not recognize this encoded version {version}")
    if not revision:
        raise _invalid(f": incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _invalid(f": encoded start key empty (version {_VERSION})")
    key = start if start.startswith("/") else f"/{start}"
    if key.startswith("//") or posixpath.normpath(key) != key:
        raise _invalid(f": {start}")
    return revision, key[1:]


def _document(text: str) -> Any:
    fault = _base64_fault(text)
    if fault is not None:
        raise _invalid(f": illegal base64 data at input byte {fault}")
    try:
        token = parse_json(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except MalformedError as error:
        raise _invalid(f": {error.fault}") from error
    if token is None:
        return {}
    if not isinstance(token, dict):
        target = "Go value of type storage.continueToken"
        raise _invalid(f": json: cannot unmarshal {json_name(token)} into {target}")
    for name, (wanted, called) in _TYPES.items():
        value = token.get(name)
        if value is not None and type(value) is not wanted:
            target = f"Go struct field continueToken.{name} of type {called}"
            raise _invalid(f": json: cannot unmarshal {json_name(value)} into {target}")
    return token


def _base64_fault(text: str) -> int | None:
    """Where Go's decoder stops: at a wrong character, or where an incomplete group begins."""
    wrong = (at for at, char in enumerate(text) if char not in _ALPHABET)
    return next(wrong, len(text) - 1 if len(text) % 4 == 1 else None)


def _invalid(fault: str) -> BadRequestError:
    return BadRequestError(f"invalid continue token: continue key is not valid{fault}")
