"""The kubelet's HTTPS server, assembled: TLS, authentication, routes."""

import asyncio

from winkube.kubelet.server.view import NodeView, ServerConfig


class KubeletServer:
    """Lives until cancelled."""

    def __init__(self, config: ServerConfig, view: NodeView) -> None:
        self.ready = asyncio.Event()
        self._config = config
        self._view = view

    async def run(self) -> None:
        raise NotImplementedError
