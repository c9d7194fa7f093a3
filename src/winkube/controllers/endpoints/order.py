"""The order upstream gives ports: by the MD5 of what Go's spew prints of them.

(endpointslice: util/controller_utils.go; kubernetes: pkg/api/v1/endpoints/util.go.)
"""

import hashlib
from functools import lru_cache

from winkube.controllers.endpoints.backend import Port, Ports


@lru_cache(1024)
def slice_order(ports: Ports) -> Ports:
    return tuple(sorted(ports, key=_slice_hash))


@lru_cache(1024)
def endpoints_order(ports: Ports) -> Ports:
    return tuple(sorted(ports, key=_endpoints_hash))


def _slice_hash(port: Port) -> str:
    name, number, protocol, application = port
    return _md5(
        f"(v1.EndpointPort){{Name:(*string){name} Protocol:(*v1.Protocol){protocol} "
        f"Port:(*int32){number} AppProtocol:(*string){application or '<nil>'}}}"
    )


def _endpoints_hash(port: Port) -> str:
    name, number, protocol, application = port
    return _md5(
        f"(v1.EndpointPort){{Name:(string){name} Port:(int32){number} "
        f"Protocol:(v1.Protocol){protocol} AppProtocol:(*string){application or '<nil>'}}}"
    )


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
