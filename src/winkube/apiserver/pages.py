"""What is not a resource: health, version, metrics, and the keys of our tokens."""

import platform
from typing import Final

from aiohttp import web

from winkube.api.errors import NoPageError
from winkube.apiserver.auth.token import TokenAuthority
from winkube.apiserver.cache import Cache
from winkube.apiserver.call import reply_json
from winkube.apiserver.edge import Edge
from winkube.apiserver.metrics import Metrics
from winkube.base.types import JsonObject

_HEALTH: Final = ("/healthz", "/livez", "/readyz")
_CHECKS: Final = ("ping", "log", "etcd")
_READY_CHECKS: Final = (*_CHECKS, "etcd-readiness", "informer-sync", "shutdown")


class Pages:
    def __init__(
        self, cache: Cache, metrics: Metrics, tokens: TokenAuthority, version: str
    ) -> None:
        self._cache = cache
        self._metrics = metrics
        self._tokens = tokens
        self._version = version

    def install(self, edge: Edge) -> None:
        for path in _HEALTH:
            edge.add_page(path, self.health)
            edge.add_tree(path + "/", self.health)
        for path in ("/version", "/version/"):
            edge.add_page(path, self.version)
        edge.add_page("/metrics", self.metrics)
        edge.add_page("/openid/v1/jwks", self.keys)
        edge.add_page("/.well-known/openid-configuration", self.openid)

    async def health(self, request: web.BaseRequest, path: str) -> web.Response:
        """All checks, or the one the path names; what does not work ends the process."""
        name, _, check = path.strip("/").partition("/")
        checks = _READY_CHECKS if name == "readyz" else _CHECKS
        if check and check not in checks:
            raise NoPageError
        if "verbose" not in request.query or check:
            return web.Response(text="ok")
        excluded = request.query.getall("exclude", [])
        lines = [f"[+]{known} {'excluded: ' * (known in excluded)}ok" for known in checks]
        unknown = ",".join(f'"{name}"' for name in excluded if name not in checks)
        if unknown:
            lines.append(f"warn: some health checks cannot be excluded: no matches for {unknown}")
        return web.Response(text="\n".join([*lines, f"{name} check passed", ""]))

    async def version(self, request: web.BaseRequest, path: str) -> web.Response:
        return reply_json(version_info(self._version))

    async def metrics(self, request: web.BaseRequest, path: str) -> web.Response:
        return web.Response(
            body=self._metrics.render(self._cache),
            headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"},
        )

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
