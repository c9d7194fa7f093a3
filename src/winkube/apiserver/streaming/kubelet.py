"""Where a node's kubelet listens, and plain HTTP to it (or to a pod), passed on as it comes."""

import ssl
from typing import Final

import aiohttp
import yarl
from aiohttp import web

from winkube.api.errors import (
    ApiError,
    BadRequestError,
    InternalError,
    NotFoundError,
    UnavailableError,
    UnexplainedError,
)
from winkube.api.node_address import kubelet_address, listed_addresses
from winkube.api.simulation import is_simulated
from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.registry.core import get
from winkube.apiserver.served import Resources
from winkube.apiserver.streaming.join import join, wants_upgrade
from winkube.apiserver.streaming.messages import relay_messages, wants_messages
from winkube.apiserver.streaming.relay import (
    Forwarder,
    Pages,
    forwarded_headers,
    read_some,
    relay,
)
from winkube.apiserver.tls import kubelet_context, trusting_context
from winkube.base.types import JsonObject
from winkube.wire.upgrade import UpgradeError

_DEFAULT_PORT: Final = 10250
_MAX_WORDS: Final = 64 * 1024
_REFUSED: Final = 400


class Kubelets:
    def __init__(self, config: ApiServerConfig, resources: Resources) -> None:
        self._config = config
        self._nodes = resources.core("nodes")
        self._context: ssl.SSLContext | None = None
        # A kept connection would fail the first request after a kubelet's restart.
        self._forwarder = Forwarder(keep_seconds=0)

    @property
    def context(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = kubelet_context(self._config)
        return self._context

    def pod_url(self, pod: JsonObject, path: str) -> yarl.URL:
        """At the kubelet of the pod's node; upstream words the node's absence as the pod's."""
        node_name = pod["spec"]["nodeName"]
        if self._nodes.cache.get(self._nodes.key("", node_name)) is None:
            raise NotFoundError.of("pods", node_name)
        return self.url(node_name, path)

    def url(self, node_name: str, path: str) -> yarl.URL:
        node = get(self._nodes, "", node_name).load()
        if is_simulated(node):
            raise BadRequestError(
                f'node "{node_name}" is simulated: its containers are only records, '
                "they have no logs and no processes to reach"
            )
        status = node.get("status") or {}
        host = kubelet_address(node)
        if not host:
            known = " ".join(f"{{{kind} {address}}}" for kind, address in listed_addresses(node))
            raise UnexplainedError(f"no preferred addresses found; known addresses: [{known}]")
        endpoints = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
        port = int(endpoints.get("Port") or _DEFAULT_PORT)
        return yarl.URL.build(scheme="https", host=host, port=port, path=path)

    async def forward(
        self,
        request: web.BaseRequest,
        url: yarl.URL,
        *,
        secure: bool = True,
        judge: bool = False,
        pages: Pages | None = None,
    ) -> web.StreamResponse:
        """Send the request on and stream the answer back, flushing as it arrives.

        With ``judge`` a refusal becomes a Status of ours with the refuser's words; with ``pages``
        links of the answer lead through us again. Only kubelets have certificates of our CA.
        """
        headers = forwarded_headers(request.headers)
        if pages is not None:
            headers["X-Forwarded-Uri"] = pages.links.change(url.raw_path)
        try:
            if pages is not None and wants_upgrade(request):
                trusted = self.context if secure else trusting_context()
                return await join(request, url, headers, ssl=trusted)
            context = self.context if secure else False
            async with self._forwarder.send(request, url, headers, ssl=context) as answer:
                if judge and answer.status >= _REFUSED:
                    words = await read_some(answer, _MAX_WORDS)
                    raise _refusal(answer.status, words[:_MAX_WORDS].decode(errors="replace"))
                if judge and wants_messages(request):
                    return await relay_messages(request, answer)
                return await relay(request, answer, pages)
        except (aiohttp.ClientError, TimeoutError, UpgradeError) as error:
            raise _unreachable(url, error) from error

    async def close(self) -> None:
        await self._forwarder.close()


def _refusal(status: int, words: str) -> ApiError:
    """What upstream makes of a kubelet's answer (registry/generic/rest/response_checker.go)."""
    if status == BadRequestError.code:
        return BadRequestError(words.strip())
    if status == NotFoundError.code:
        return NotFoundError("the server could not find the requested resource")
    return InternalError(
        f'an error on the server ("{words.strip()}") has prevented the request from succeeding'
    )


def _unreachable(url: yarl.URL, error: Exception) -> ApiError:
    where = f"{url.scheme}://{url.host}:{url.port}{url.path}"
    return UnavailableError(f"error trying to reach service: {where}: {error}")


def pick_container(pod: JsonObject, wanted: str) -> str:
    """The container a request is about: named, or the only one."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    every = [
        entry["name"]
        for field in ("initContainers", "containers", "ephemeralContainers")
        for entry in spec.get(field) or ()
    ]
    if wanted:
        if wanted in every:
            return wanted
        raise BadRequestError(f"container {wanted} is not valid for pod {name}")
    regular = spec.get("containers") or []
    if len(regular) == 1:
        return str(regular[0]["name"])
    raise BadRequestError(
        f"a container name must be specified for pod {name}, choose one of: [{' '.join(every)}]"
    )
