"""What the components need, loaded once by the supervisor before it forks them.

A component is a fork: whatever is loaded here costs its processor time and memory once, not once
per process. gRPC must stay out, because a process that has loaded it cannot fork safely; so the
modules below are those that reach gRPC only when they run.
"""

import gc
import importlib
from typing import Final

from winkube.facts.hns import features
from winkube.facts.images import base_images
from winkube.facts.windows import windows_versions

MODULES: Final = (
    # The API server first: everybody waits for it.
    "winkube.apiserver.server",
    "winkube.controllers.manager",
    "winkube.scheduler.scheduler",
    "winkube.metrics.server",
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


def preload() -> None:
    """Load them, and keep the collector from touching, and so copying, what forks share."""
    gc.disable()
    for name in MODULES:
        importlib.import_module(name)
    for ask in (windows_versions, features, base_images):
        ask()  # the tables that every Windows node reads
    gc.freeze()
    gc.enable()
