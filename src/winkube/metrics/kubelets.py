"""Ask every kubelet of the cluster for its figures."""

import asyncio
import logging
import ssl
from types import TracebackType
from typing import Final, Self

import aiohttp

from winkube.api.meta import name_of
from winkube.api.node_address import kubelet_address
from winkube.base.clock import Clock
from winkube.base.types import JsonObject
from winkube.metrics.config import MetricsConfig
from winkube.metrics.scrape import Scrape, parse_scrape

log = logging.getLogger(__name__)

_PATH: Final = "/metrics/resource"
_DEFAULT_PORT: Final = 10250
# A node with the most pods there can be says about a tenth of this.
_MAX_ANSWER: Final = 4 * 1024 * 1024


class Kubelets:
    def __init__(self, config: MetricsConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        context = ssl.create_default_context(cafile=str(self._config.kubelet_ca))
        context.load_cert_chain(self._config.client_cert, self._config.client_key)
        self._session = aiohttp.ClientSession(
            # Kept between scrapes: a handshake costs more than the answer.
            connector=aiohttp.TCPConnector(ssl=context, limit=64, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=self._config.timeout),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def scrape(self, nodes: list[JsonObject]) -> dict[str, Scrape]:
        """What could be read, by node; one that does not answer is left out."""
        async with asyncio.TaskGroup() as group:
            tasks = {
                name_of(node): group.create_task(self._ask(node), name=name_of(node))
                for node in nodes
            }
        answers = {name: task.result() for name, task in tasks.items()}
        return {name: answer for name, answer in answers.items() if answer is not None}

    async def _ask(self, node: JsonObject) -> Scrape | None:
        url = kubelet_url(node)
        if url is None or self._session is None:
            return None
        for _ in range(2):  # a kept connection may have been closed by a restart
            try:
                async with self._session.get(url + _PATH) as answer:
                    answer.raise_for_status()
                    return parse_scrape(await _read(answer.content), self._clock.now())
            except aiohttp.ServerDisconnectedError:
                continue
            except (aiohttp.ClientError, TimeoutError, ValueError, KeyError) as error:
                facts = {"node": name_of(node), "error": str(error)}
                log.debug("kubelet not scraped", extra=facts)
                return None
        return None


async def _read(content: aiohttp.StreamReader) -> str:
    found = bytearray()
    async for piece in content.iter_any():
        found += piece
        if len(found) > _MAX_ANSWER:
            raise ValueError(f"more than {_MAX_ANSWER} bytes of figures")
    return found.decode()


def kubelet_url(node: JsonObject) -> str | None:
    status = node.get("status") or {}
    host = kubelet_address(node)
    endpoints = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    port = endpoints.get("Port") or _DEFAULT_PORT
    if not host:
        return None
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
