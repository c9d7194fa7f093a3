"""Names and uids from one generator: the operating system is asked once, not for every letter.

Neither is a secret. The generator is made in the server's own process (never before a fork, whose
children would repeat each other).
"""

import random
from typing import Final

from winkube.base.ids import SUFFIX_ALPHABET

# generateName leaves room for the suffix in 63 characters; longer bases are cut, as upstream does.
_MAX_BASE: Final = 58


class Chance:
    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def uid(self) -> str:
        """A random UUID (version 4, RFC 9562) without the object: every write takes one."""
        text = f"{self._random.getrandbits(128):032x}"
        variant = "89ab"[int(text[16], 16) & 3]
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"

    def name(self, base: str) -> str:
        return base[:_MAX_BASE] + "".join(self._random.choices(SUFFIX_ALPHABET, k=5))
