from typing import Any, cast

import pytest
from aiohttp import web

from winkube.kubelet.server.auth import API_SERVER, require_client


class Request:
    """What a client's certificate says, on a connection of its own."""

    path, method = "/pods", "GET"

    def __init__(self, *names: str) -> None:
        self.transport = self
        self._certificate = {"subject": tuple((("commonName", name),) for name in names)}

    def get_extra_info(self, _name: str) -> Any:
        return self._certificate


async def _answer(_request: web.Request) -> web.Response:
    return web.Response(text="ok")


async def test_of_several_names_the_last_counts() -> None:
    """The signer of kubelets' requests looks at the last: the others are whatever they like."""
    server = cast("web.Request", Request("system:node:me", API_SERVER))
    assert (await require_client(server, _answer)).status == 200
    with pytest.raises(web.HTTPForbidden):
        await require_client(cast("web.Request", Request(API_SERVER, "system:node:me")), _answer)
