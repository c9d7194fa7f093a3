"""Objects as YAML, quoted and folded the way upstream's server writes it."""

import sys
from typing import Any

import yaml


class _Dumper(yaml.CSafeDumper):
    pass


def _represent_text(dumper: _Dumper, text: str) -> Any:
    """Text that looks like something else is in double quotes; many lines are kept as lines."""
    style = None
    if "\n" in text:
        style = "|"
    elif text in ("y", "Y", "n", "N") or _resolved(dumper, text) != "tag:yaml.org,2002:str":
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _resolved(dumper: _Dumper, text: str) -> str:
    tag: str = dumper.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return tag


_Dumper.add_representer(str, _represent_text)


def to_yaml(document: Any) -> bytes:
    return yaml.dump(
        document, Dumper=_Dumper, sort_keys=True, width=sys.maxsize >> 33, allow_unicode=True
    ).encode()
