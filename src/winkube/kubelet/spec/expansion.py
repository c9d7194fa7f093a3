"""``$(NAME)`` references in commands, arguments, values and paths, as Kubernetes expands them.

``$$`` stands for one dollar sign, an unknown name stays as it is written
(kubernetes: third_party/forked/golang/expansion).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

_REFERENCE: Final = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return "$"
        return values.get(match[2], match[0])

    return _REFERENCE.sub(replace, text)


def expand_all(texts: Sequence[str] | None, values: Mapping[str, str]) -> list[str]:
    return [expand(text, values) for text in texts or ()]
