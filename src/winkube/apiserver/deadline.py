"""How long a request may wait for others: a minute, all its waits together.

As upstream's limit of a request (k8s.io/apiserver: ``--request-timeout``). Webhooks are asked one
after the other, and all of them again when a write lost a race: each alone may be slow, but nobody
keeps a seat, and what he holds in memory, for as long as there are webhooks and races.
"""

import asyncio
import math
from contextvars import ContextVar
from typing import Final

REQUEST_SECONDS: Final = 60.0

_until: Final[ContextVar[float]] = ContextVar("until", default=math.inf)


def begin(seconds: float = REQUEST_SECONDS) -> None:
    """The request that this task serves from now on; infinite for one that lasts."""
    _until.set(asyncio.get_running_loop().time() + seconds)


def left() -> float:
    return max(0.0, _until.get() - asyncio.get_running_loop().time())
