"""A parameter that names one of the things a template can do."""

from collections.abc import Container, Mapping
from typing import Any


def parse_choice(params: Mapping[str, Any], name: str, known: Container[str]) -> str:
    choice = str(params[name])
    if choice not in known:
        raise KeyError(f"unknown {name} {choice}")
    return choice
