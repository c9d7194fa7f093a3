"""The past is kept for five to ten minutes, as upstream keeps it in etcd.

A list in pages is of one moment: clients that take longer are told to go on with what there is now.
"""

import asyncio
from typing import Final

from winkube.apiserver.cache import Cache

_INTERVAL: Final = 300.0


class Compaction:
    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._mark = 0

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_INTERVAL)
            self.step()

    def step(self) -> None:
        """What was now at the last step becomes the oldest past."""
        self._cache.compact(self._mark)
        self._mark = self._cache.revision
