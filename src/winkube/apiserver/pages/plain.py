"""What is not a resource: health, version, metrics, and the keys of our tokens."""

import platform

from aiohttp import web

from winkube.apiserver.auth.token import TokenAuthority
from winkube.apiserver.cache import Cache
from winkube.apiserver.call import only_read, reply_json
from winkube.apiserver.edge import Edge
from winkube.apiserver.pages.health import PAGES, health, health_metrics
from winkube.apiserver.pages.metrics import Metrics
from winkube.base.types import JsonObject


class Pages:
    def __init__(
        self, cache: Cache, metrics: Metrics, tokens: TokenAuthority, version: str
    ) -> None:
        self._cache = cache
        self._metrics = metrics
        self._tokens = tokens
        self._version = version

    def install(self, edge: Edge) -> None:
        for name in PAGES:
            edge.add_page(f"/{name}", health)
            edge.add_tree(f"/{name}/", health)
        for path in ("/version", "/version/"):
            edge.add_page(path, only_read(self.version))
        edge.add_page("/metrics", self.metrics)
        edge.add_page("/metrics/slis", self.checks)
        edge.add_page("/openid/v1/jwks", self.keys)
        edge.add_page("/.well-known/openid-configuration", self.openid)

    async def version(self, request: web.BaseRequest, path: str) -> web.Response:
        return reply_json(version_info(self._version))

    async def metrics(self, request: web.BaseRequest, path: str) -> web.Response:
        return web.Response(
            body=self._metrics.render(self._cache),
            headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"},
        )

    async def checks(self, request: web.BaseRequest, path: str) -> web.Response:
        return web.Response(text=health_metrics())

    async def keys(self, request: web.BaseRequest, path: str) -> web.Response:
        return reply_json(self._tokens.key_set(), content_type="application/jwk-set+json")

    async def openid(self, request: web.BaseRequest, path: str) -> web.Response:
        issuer = self._tokens.issuer
        return reply_json(
            {
                "issuer": issuer,
                "jwks_uri": f"{issuer}/openid/v1/jwks",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )


def version_info(version: str) -> JsonObject:
    major, minor = version.split(".")[:2]
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{major}.{minor}.0",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "cpython",
        "platform": f"linux/{machine}",
    }
