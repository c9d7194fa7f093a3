"""Values as Go prints them in error messages."""

import json
from typing import Any

import orjson


def printed(value: Any) -> str:
    """As ``%v``: ``map[a:1 b:[x y]]``, keys in order."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{printed(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(printed, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def quoted(text: str) -> str:
    """As ``%q``."""
    return json.dumps(text, ensure_ascii=False)


def object_text(obj: Any) -> str:
    return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS).decode()
