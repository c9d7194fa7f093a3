"""nodes/proxy, pods/proxy and services/proxy: plain HTTP to what the cluster runs."""

import itertools
from ipaddress import ip_address
from typing import Any, Final

import yarl
from aiohttp import web

from winkube.aio.fair import FairGate
from winkube.api.errors import BadRequestError, NotFoundError, UnavailableError
from winkube.apiserver.call import Call
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.streaming.kubelet import Kubelets
from winkube.apiserver.streaming.links import Links
from winkube.apiserver.streaming.relay import Pages
from winkube.apiserver.subresource.admitted import admit_connection
from winkube.base.types import JsonObject

_SERVICE_NAME: Final = "kubernetes.io/service-name"
# Anybody may write slices about a Service, and nobody is made to wait until all were read.
_MOST_SLICES: Final = 128


class Proxy:
    def __init__(self, kubelets: Kubelets, registry: Registry) -> None:
        self._kubelets = kubelets
        self._admission = registry.admission
        self._pages: FairGate[str] = FairGate(1)
        self._slices = registry.resources.require("discovery.k8s.io", "v1", "endpointslices")

    async def handle(self, call: Call) -> web.StreamResponse:
        rest, is_folder = call.target.rest, call.request.path.endswith("/")
        said = f"/{rest}/" if rest and is_folder else f"/{rest}"
        is_bare = not rest and not is_folder
        fields = {} if is_bare else {"path": said}
        options = await admit_connection(self._admission, call, fields)
        path = "/" + (options.get("path") or "").removeprefix("/")
        found, secure = self._server(call)
        url = found.with_path(path)
        if is_bare:
            redirect = _to_folder(call.request)
            if redirect is not None:
                return redirect
        query = call.request.rel_url.query_string
        url = url.with_query(query) if query else url
        links = Links(call.request.path.removesuffix(said), _names(call.request, url))
        pages = Pages(links, self._pages, call.user.tenant)
        return await self._kubelets.forward(call.request, url, secure=secure, pages=pages)

    def _server(self, call: Call) -> tuple[yarl.URL, bool]:
        """Where it is, and whether it is a kubelet."""
        plural = call.served.kind.plural
        scheme, name, port = split_name(call.target.name, call.served.kind.singular)
        if plural == "nodes":
            return self._node_url(name, scheme, port)
        found = get(call.served, call.target.namespace, name).load()
        if plural == "pods":
            return _pod_url(found, scheme, port), False
        return self._service_url(found, scheme, port), False

    def _node_url(self, name: str, scheme: str, port: str) -> tuple[yarl.URL, bool]:
        """The kubelet, or whatever listens at another port: who may ask for that asks no kubelet.

        As upstream does (registry/core/node/strategy.go: ResourceLocation).
        """
        kubelet = self._kubelets.url(name, "/")
        if port in ("", str(kubelet.port)):
            return kubelet, True
        host = proxied_address(kubelet.host)
        return yarl.URL.build(scheme=scheme or "http", host=host, port=_port(port)), False

    def _service_url(self, service: JsonObject, scheme: str, port: str) -> yarl.URL:
        metadata = service["metadata"]
        wanted = _service_port(service, port)
        known = False
        near = self._slices.cache.items(self._slices.folder(metadata["namespace"]))
        own = (each for each in near if each.labels.get(_SERVICE_NAME) == metadata["name"])
        for item in itertools.islice(own, _MOST_SLICES):
            known, found = True, item.load()
            ports = [p for p in found.get("ports") or () if p.get("name", "") == wanted]
            ready = [
                entry
                for entry in found.get("endpoints") or ()
                if (entry.get("conditions") or {}).get("ready") is not False
            ]
            if ports and ready:
                host = proxied_address(ready[0]["addresses"][0])
                return yarl.URL.build(scheme=scheme or "http", host=host, port=ports[0]["port"])
        if not known:
            raise NotFoundError.of("services", metadata["name"])
        raise UnavailableError(f'no endpoints available for service "{metadata["name"]}"')


def _to_folder(request: web.BaseRequest) -> web.StreamResponse | None:
    """Relative links need a base that ends in a slash."""
    if request.method not in ("GET", "HEAD"):
        return None
    query = f"?{request.query_string}" if request.query_string else ""
    return web.Response(status=301, headers={"Location": f"{request.path}/{query}"})


def _names(request: web.BaseRequest, url: yarl.URL) -> frozenset[str]:
    return frozenset({request.host, url.authority})


def split_name(text: str, kind: str = "pod") -> tuple[str, str, str]:
    """``name``, ``name:port`` or ``scheme:name:port``."""
    parts = text.split(":")
    if len(parts) == 1:
        return "", parts[0], ""
    if len(parts) == 2:
        return "", parts[0], parts[1]
    if len(parts) == 3 and parts[0] in ("", "http", "https"):
        return parts[0], parts[1], parts[2]
    raise BadRequestError(f'invalid {kind} request "{text}"')


def proxied_address(text: Any) -> str:
    """An address of the cluster's network: what only this server reaches stays its own.

    It is an address and no name, so what was checked is what is connected to (CVE-2020-8562).
    """
    try:
        address = ip_address(text if isinstance(text, str) else "")
    except ValueError:
        raise BadRequestError("address not allowed") from None
    mapped = getattr(address, "ipv4_mapped", None) or address
    if (
        mapped.is_loopback
        or mapped.is_link_local
        or mapped.is_multicast
        or mapped.is_unspecified
        or str(mapped) == "255.255.255.255"
    ):
        raise BadRequestError("address not allowed")
    return str(address)


def _pod_url(pod: JsonObject, scheme: str, port: str) -> yarl.URL:
    address = proxied_address((pod.get("status") or {}).get("podIP"))
    if not port:
        ports = [p for c in pod["spec"]["containers"] for p in c.get("ports") or ()]
        port = str(ports[0]["containerPort"]) if ports else "80"
    return yarl.URL.build(scheme=scheme or "http", host=address, port=_port(port))


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536):
        raise BadRequestError(f'invalid port "{text}"')
    return int(text)


def _service_port(service: JsonObject, port: str) -> str:
    ports = service["spec"].get("ports") or []
    if not port and len(ports) == 1:
        return str(ports[0].get("name", ""))
    for entry in ports:
        if port in (entry.get("name", ""), str(entry["port"])):
            return str(entry.get("name", ""))
    raise UnavailableError(
        f'no service port {port} found for service "{service["metadata"]["name"]}"'
    )
