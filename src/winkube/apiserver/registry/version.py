"""A resourceVersion as a client says it: a number of this server's store."""

from typing import Final

from winkube.api.errors import UnexplainedError
from winkube.api.go.number import NumberError, parse_uint

ASKED_FOR: Final = "resourceVersion: Invalid value: "


def parse_version(text: str, where: str = "") -> int:
    try:
        return parse_uint(text)
    except NumberError as error:
        shown = f'{where}"{text}": ' if where else ""
        raise UnexplainedError(f"{shown}strconv.ParseUint: {error}") from error
