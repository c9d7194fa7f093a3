"""A Service's port as the planes are given it."""

from typing import Any

from winkube.proxy.service import Backend, ServicePort


def service_port(*backends: Backend, **changes: Any) -> ServicePort:
    values: dict[str, Any] = {
        "service": "default/web",
        "name": "",
        "protocol": "TCP",
        "cluster_ip": "10.96.0.7",
        "port": 80,
        "backends": backends,
        **changes,
    }
    return ServicePort(**values)
