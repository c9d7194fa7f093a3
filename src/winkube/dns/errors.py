"""Errors of the DNS server.

WinkubeError
└── DnsError
    └── ConfigError    settings that cannot be used
"""

from winkube.base.errors import WinkubeError


class DnsError(WinkubeError):
    pass


class ConfigError(DnsError):
    pass
