"""GUIDs as HNS writes them: upper case outside, compared without regard to case."""

import re
import uuid
from typing import Final

from winkube.hns.errors import Code, HnsError

_GUID: Final = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")
ZERO: Final = "00000000-0000-0000-0000-000000000000"


def new_guid() -> str:
    return str(uuid.uuid4()).upper()


def parse_guid(text: str) -> str:
    """Accept any case and braces; refuse anything that is not a GUID."""
    guid = text.strip().strip("{}").upper()
    if not _GUID.fullmatch(guid):
        raise HnsError(Code.GUID_CONVERSION)
    return guid


def guid_or_new(text: str | None) -> str:
    """The caller's choice; none or the zero GUID lets the service choose."""
    if not text or text.strip("{}") == ZERO:
        return new_guid()
    return parse_guid(text)


def short(guid: str, digits: int) -> str:
    """The first hex digits, lower case: for names the kernel limits in length."""
    return guid.replace("-", "").lower()[:digits]
