"""Names and uids from one generator: the operating system is asked once, not for every letter.

Neither is a secret. The generator is made in the server's own process (never before a fork, whose
children would repeat each other).
"""

import random
from uuid import UUID

from winkube.base.ids import SUFFIX_ALPHABET


class Chance:
    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def uid(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self) -> str:
        return "".join(self._random.choices(SUFFIX_ALPHABET, k=5))
