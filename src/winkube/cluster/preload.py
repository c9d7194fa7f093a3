"""What the components need, loaded once by the supervisor before it forks them.

A component is a fork: whatever is loaded here costs its processor time and memory once, not once
per process. gRPC must stay out, because a process that has loaded it cannot fork safely; so the
modules below are those that reach gRPC only when they run.
"""

import gc
import importlib
from collections import deque
from collections.abc import Callable, Collection
from typing import Final

# In the order in which they are waited for: a component starts while later ones are being loaded.
API: Final = ("winkube.apiserver.server", "winkube.cluster.components")
CONTROL: Final = (
    *API,
    "winkube.controllers.manager",
    "winkube.scheduler.scheduler",
    "winkube.metrics.server",
    "winkube.cluster.health",
)
MODULES: Final = (
    *CONTROL,
    "winkube.dns.server",
    "winkube.proxy.hostgw",
    "winkube.proxy.linux",
    "winkube.proxy.windows",
    "winkube.hns.service",
    "winkube.kubelet.kubelet",
    "winkube.runtime.handlers",
    "winkube.runtime.backend",
    "winkube.runtime.network",
    "winkube.runtime.streaming",
    "winkube.cni.install",
)


class Preload:
    def __init__(self) -> None:
        self._left = deque(MODULES)

    @property
    def done(self) -> bool:
        return not self._left

    def load(self, wanted: Collection[str] = MODULES) -> None:
        """Load these, and keep the collector from touching, and so copying, what forks share."""
        if self.done or self._left[0] not in wanted:
            return
        gc.disable()
        while self._left and self._left[0] in wanted:
            importlib.import_module(self._left.popleft())
        if self.done:
            _read_tables()
        gc.freeze()
        gc.enable()

    def load_while(self, idle: Callable[[], bool]) -> None:
        """What the API server needs in any case, and then on for as long as there is time."""
        self.load(API)
        while not self.done and idle():
            self.load((self._left[0],))


def _read_tables() -> None:
    """The ones that every Windows node reads."""
    from winkube.facts.hns import features
    from winkube.facts.images import base_images
    from winkube.facts.windows import windows_versions

    for ask in (windows_versions, features, base_images):
        ask()
