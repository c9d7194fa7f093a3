"""Health pages: which checks there are, one page for each and one for all.

The names are upstream's: tools ask for single checks by name. All of what starts the server is done
before it answers its first request, and a part that fails later ends the process: a server that
answers is well, and says so check by check.
"""

from typing import Final

from aiohttp import web

from winkube.api.errors import NoPageError

PAGES: Final = ("healthz", "livez", "readyz")
_FIRST: Final = ("ping", "log", "etcd")
_READY: Final = ("etcd-readiness", "informer-sync")
# In the order of starting.
_STARTS: Final = (
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "aggregator-reload-proxy-client-cert",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
)
_REGISTERED: Final = "autoregister-completion"


def _started() -> tuple[str, ...]:
    hooks = [f"poststarthook/{name}" for name in _STARTS]
    return (*hooks[:-2], _REGISTERED, *hooks[-2:])


CHECKS: Final = {
    "healthz": (*_FIRST, *_started()),
    "livez": (*_FIRST, *_started()),
    "readyz": (*_FIRST, *_READY, *_started(), "shutdown"),
}


def health_paths() -> list[str]:
    return [f"/{page}{check}" for page in PAGES for check in ("", *(f"/{c}" for c in CHECKS[page]))]


async def health(request: web.BaseRequest, path: str) -> web.Response:
    """All checks, or the one the path names."""
    name, _, check = path[1:].partition("/")
    checks = CHECKS[name]
    if path != f"/{name}" and check not in checks:
        raise NoPageError
    if "verbose" not in request.query or check:
        return web.Response(text="ok")
    excluded = request.query.getall("exclude", [])
    lines = [f"[+]{known} {'excluded: ' * (known in excluded)}ok" for known in checks]
    unknown = ",".join(f'"{name}"' for name in excluded if name not in checks)
    if unknown:
        lines.append(f"warn: some health checks cannot be excluded: no matches for {unknown}")
    return web.Response(text="\n".join([*lines, f"{name} check passed", ""]))


def health_metrics() -> str:
    """The same for who counts how often a check fails."""
    lines = [
        f'kubernetes_healthcheck{{name="{check}",type="{page}"}} 1'
        for page in PAGES
        for check in CHECKS[page]
    ]
    return "\n".join(["# TYPE kubernetes_healthcheck gauge", *lines, ""])
