"""Errors of the node's network agents.

WinkubeError
└── ProxyError
    ├── ConfigError          settings that contradict each other
    └── PodNetworkError      the pod network is absent, replaced or not coming up
"""

from winkube.base.errors import WinkubeError


class ProxyError(WinkubeError):
    pass


class ConfigError(ProxyError):
    pass


class PodNetworkError(ProxyError):
    pass
