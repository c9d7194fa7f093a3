"""What the components need, loaded once by the supervisor before it forks them.

A component is a fork: whatever is loaded here costs its processor time and memory once, not once
per process. gRPC may be loaded, but not used: a process with its threads cannot fork safely. It has
none before the first channel or server, and without its own support for forks no handlers.
"""

import gc
import importlib
import os
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final

# In the order in which they are waited for: a component starts while later ones are being loaded.
API: Final = (
    "winkube.apiserver.server",
    "winkube.cluster.components",
    "winkube.cluster.handshake",
    "encodings.idna",  # every connection to a host by name or address asks for it
)
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
    "winkube.runtime.server",
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
        os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"
        gc.disable()
        with _without_authorities():
            while self._left and self._left[0] in wanted:
                name = self._left.popleft()
                importlib.import_module(name)
                _AFTER.get(name, _nothing)()
        gc.freeze()
        gc.enable()

    def load_while(self, idle: Callable[[], bool]) -> None:
        """What the API server needs in any case, and then on for as long as there is time."""
        self.load(API)
        while not self.done and idle():
            self.load((self._left[0],))


@contextmanager
def _without_authorities() -> Iterator[None]:
    """Keep aiohttp from reading the machine's certificate authorities, twice, while it is loaded.

    That takes longer than the rest of it, and whoever of ours believes in them reads them itself.
    """
    names = ("SSL_CERT_FILE", "SSL_CERT_DIR")
    before = {name: os.environ[name] for name in names if name in os.environ}
    os.environ.update(dict.fromkeys(names, os.devnull))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]
        os.environ.update(before)


def _nothing() -> None:
    return


def _shake_hands() -> None:
    from winkube.cluster.handshake import shake_hands

    shake_hands()


def _read_tables() -> None:
    """The ones that every Windows node reads."""
    from winkube.facts.hns import features
    from winkube.facts.images import base_images
    from winkube.facts.windows import windows_versions

    for ask in (windows_versions, features, base_images):
        ask()


_AFTER: Final[dict[str, Callable[[], object]]] = {
    "winkube.cluster.handshake": _shake_hands,
    MODULES[-1]: _read_tables,
}
