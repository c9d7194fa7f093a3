"""Whom servers that extend the API may believe: a ConfigMap that they read when they start."""

from typing import Final

import orjson

from winkube.apiserver.config import ApiServerConfig
from winkube.base.types import JsonObject

NAMESPACE: Final = "kube-system"
NAME: Final = "extension-apiserver-authentication"
_HEADERS: Final = {
    "requestheader-username-headers": ["X-Remote-User"],
    "requestheader-uid-headers": ["X-Remote-Uid"],
    "requestheader-group-headers": ["X-Remote-Group"],
    "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
    "requestheader-allowed-names": ["front-proxy-client"],
}


def trust_document(config: ApiServerConfig) -> JsonObject | None:
    """None when there is no front proxy's authority to believe."""
    if config.requestheader_ca is None:
        return None
    data = {name: orjson.dumps(values).decode() for name, values in _HEADERS.items()}
    data["client-ca-file"] = config.client_ca_file.read_text()
    data["requestheader-client-ca-file"] = config.requestheader_ca.read_text()
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "data": dict(sorted(data.items())),
    }
