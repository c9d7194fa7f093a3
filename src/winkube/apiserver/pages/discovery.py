"""Discovery: which groups, versions and resources there are, one by one or all at once."""

import base64
import hashlib
from collections.abc import Iterable
from typing import Final, Protocol

import orjson
from aiohttp import web

from winkube.api.errors import NoPageError, NoRouteError
from winkube.api.kinds import Kind, KindTable
from winkube.apiserver.call import only_read, reply_json
from winkube.apiserver.edge import Edge
from winkube.apiserver.form.spoken import subresource_kind
from winkube.apiserver.negotiate import JSON, negotiate, parse_accept
from winkube.apiserver.pages.health import health_paths
from winkube.base.types import JsonObject

_AGGREGATED: Final = "APIGroupDiscoveryList"
# Kinds that are kept in another group or version than the one they are served in.
_STORED_AS: Final = {
    ("events.k8s.io", "Event"): ("", "v1", "Event"),
    ("autoscaling", "HorizontalPodAutoscaler"): ("autoscaling", "v2", "HorizontalPodAutoscaler"),
}
# Groups, or kinds, that upstream of this version still keeps in an older version.
_KEPT_IN: Final = {
    "apiextensions.k8s.io": "v1beta1",
    "resource.k8s.io": "v1beta2",
    "VolumeAttributesClass": "v1beta1",
}
_CONNECT: Final = ("create", "delete", "get", "patch", "update")
_SUBRESOURCE_VERBS: Final = {
    "binding": ("create",),
    "eviction": ("create",),
    "token": ("create",),
    "log": ("get",),
    "attach": ("create", "get"),
    "exec": ("create", "get"),
    "portforward": ("create", "get"),
    "proxy": _CONNECT,
    "finalize": ("update",),
}
_CHANGE: Final = ("get", "patch", "update")
# Groups in upstream's order of importance: kubectl resolves short names by it.
_FIRST: Final = (
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)


def subresource_verbs(subresource: str) -> tuple[str, ...]:
    return _SUBRESOURCE_VERBS.get(subresource, _CHANGE)


class ExtraGroups(Protocol):
    """Groups that other servers answer for; ``revision`` changes when they do."""

    @property
    def revision(self) -> int: ...

    def groups(self) -> list[JsonObject]: ...

    def aggregated(self) -> list[JsonObject]: ...


_PAGES: Final = (
    "/.well-known/openid-configuration", "/metrics", "/metrics/slis", "/openapi/v2",
    "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/version",
)  # fmt: skip


class Discovery:
    """Documents are made once; only groups of other servers come and go while the server runs."""

    def __init__(self, kinds: KindTable, address: str, extra: ExtraGroups) -> None:
        self._address = address
        self._extra = extra
        self._extra_revision = extra.revision
        self._versions: dict[str, list[str]] = {}
        self._kinds: dict[tuple[str, str], list[Kind]] = {}
        for kind in kinds.all():
            listed = self._versions.setdefault(kind.group, [])
            if kind.version not in listed:
                listed.append(kind.version)
            self._kinds.setdefault((kind.group, kind.version), []).append(kind)
        self._aggregated: dict[bool, bytes] = {}

    def install(self, edge: Edge) -> None:
        for path in ("/api", "/api/"):
            edge.add_page(path, only_read(self.core))
        for path in ("/apis", "/apis/"):
            edge.add_page(path, self.groups)
        for path in ("/", "/index.html"):
            edge.add_page(path, self.paths)
        edge.add_tree("/apis/", self.group)
        for group, versions in self._versions.items():
            if group:
                edge.add_page(f"/apis/{group}", self.group)
                edge.add_page(f"/apis/{group}/", self.group)
            for version in versions:
                root = f"/apis/{group}/{version}" if group else f"/api/{version}"
                edge.add_page(root, only_read(self.resources))
                edge.add_page(root + "/", only_read(self.resources))

    async def core(self, request: web.BaseRequest, path: str) -> web.Response:
        aggregated = self._aggregate(request, core=True)
        if aggregated is not None:
            return aggregated
        address = {"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}
        return reply_json(
            {
                "kind": "APIVersions",
                "versions": ["v1"],
                "serverAddressByClientCIDRs": [address],
            }
        )

    async def groups(self, request: web.BaseRequest, path: str) -> web.Response:
        aggregated = self._aggregate(request, core=False)
        if aggregated is not None:
            return aggregated
        groups = [*(self._group(group) for group in self._ordered()), *self._extra.groups()]
        return reply_json({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})

    async def group(self, request: web.BaseRequest, path: str) -> web.Response:
        parts = path.removeprefix("/apis/").rstrip("/").split("/")
        group = parts[0]
        for extra in self._extra.groups():
            if extra["name"] == group and len(parts) == 1:
                return reply_json({"kind": "APIGroup", "apiVersion": "v1", **extra})
        if not group or group not in self._versions:
            raise NoPageError
        if len(parts) > 1:
            raise NoRouteError
        return reply_json({"kind": "APIGroup", "apiVersion": "v1", **self._group(group)})

    async def resources(self, request: web.BaseRequest, path: str) -> web.Response:
        parts = path.strip("/").split("/")
        group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
        resources = [
            entry for kind in self._kinds[group, version] for entry in _plain_entries(kind)
        ]
        return reply_json(
            {
                "kind": "APIResourceList",
                **({"apiVersion": "v1"} if group else {}),  # the oldest group never says it
                "groupVersion": _group_version(group, version),
                "resources": resources,
            }
        )

    async def paths(self, request: web.BaseRequest, path: str) -> web.Response:
        listed = ["/api", "/api/v1", "/apis", "/apis/"]
        for group in self._ordered():
            listed.append(f"/apis/{group}")
            listed += [f"/apis/{group}/{version}" for version in self._versions[group]]
        for extra in self._extra.groups():
            versions = [f"/apis/{entry['groupVersion']}" for entry in extra["versions"]]
            listed += [f"/apis/{extra['name']}", *versions]
        return reply_json({"paths": sorted([*listed, *_PAGES, *health_paths()])})

    def _ordered(self) -> list[str]:
        rank = {group: index for index, group in enumerate(_FIRST)}
        groups = [group for group in self._versions if group]
        return sorted(groups, key=lambda group: rank.get(group, len(rank)))

    def _group(self, group: str) -> JsonObject:
        versions = [
            {"groupVersion": _group_version(group, version), "version": version}
            for version in self._versions[group]
        ]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _aggregate(self, request: web.BaseRequest, *, core: bool) -> web.Response | None:
        """The aggregated form, if the client prefers it to the plain one."""
        for entry in parse_accept(request.headers.get("Accept", "")):
            if entry.media != JSON:
                continue
            if not entry.get("as"):
                return None
            asked = (entry.get("g"), entry.get("v"), entry.get("as"))
            if asked == ("apidiscovery.k8s.io", "v2", _AGGREGATED):
                content_type = f"{JSON};g=apidiscovery.k8s.io;v=v2;as={_AGGREGATED}"
                return web.Response(
                    body=self._aggregated_document(core=core),
                    headers={"Content-Type": content_type, "Vary": "Accept"},
                )
        negotiate(request.headers.get("Accept", ""))  # refuses what nobody speaks
        return None

    def _aggregated_document(self, *, core: bool) -> bytes:
        if self._extra_revision != self._extra.revision:
            self._extra_revision = self._extra.revision
            self._aggregated.clear()
        known = self._aggregated.get(core)
        if known is None:
            groups = [""] if core else self._ordered()
            document = {
                "kind": _AGGREGATED,
                "apiVersion": "apidiscovery.k8s.io/v2",
                "metadata": {},
                "items": [
                    *(self._aggregated_group(group) for group in groups),
                    *([] if core else self._extra.aggregated()),
                ],
            }
            known = self._aggregated[core] = orjson.dumps(document)
        return known

    def _aggregated_group(self, group: str) -> JsonObject:
        versions = [
            {
                "version": version,
                "resources": [_entry(kind) for kind in self._kinds[group, version]],
                "freshness": "Current",
            }
            for version in self._versions[group]
        ]
        return {"metadata": {"name": group} if group else {}, "versions": versions}


def _group_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def _other_names(kind: Kind) -> JsonObject:
    found: JsonObject = {}
    if kind.short_names:
        found["shortNames"] = list(kind.short_names)
    if kind.categories:
        found["categories"] = list(kind.categories)
    return found


def _plain_entries(kind: Kind) -> Iterable[JsonObject]:
    entry: JsonObject = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    entry |= _other_names(kind)
    if "list" in kind.verbs and kind.plural != "componentstatuses":
        entry["storageVersionHash"] = _storage_version_hash(kind)
    yield entry
    for name in sorted(kind.subresources):
        group, version, spoken = subresource_kind(kind, name)
        part: JsonObject = {
            "name": f"{kind.plural}/{name}",
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": spoken,
            "verbs": list(subresource_verbs(name)),
        }
        if (group, version) != (kind.group, kind.version):
            part |= {"group": group, "version": version}
        yield part


def _entry(kind: Kind) -> JsonObject:
    entry: JsonObject = {
        "resource": kind.plural,
        "responseKind": _kind_json(kind.gvk, kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    entry |= _other_names(kind)
    if kind.subresources:
        entry["subresources"] = [
            {
                "subresource": name,
                "responseKind": _kind_json(subresource_kind(kind, name), kind),
                "verbs": list(subresource_verbs(name)),
            }
            for name in sorted(kind.subresources)
        ]
    return entry


def _kind_json(gvk: tuple[str, str, str], kind: Kind) -> JsonObject:
    """A group and version are named only where they are not those of the document around."""
    own = gvk[:2] == (kind.group, kind.version)
    group, version = ("", "") if own else gvk[:2]
    return {"group": group, "version": version, "kind": gvk[2]}


def _storage_version_hash(kind: Kind) -> str:
    """Equal for two resources when one store holds both."""
    group, version, name = _STORED_AS.get((kind.group, kind.kind), kind.gvk)
    version = _KEPT_IN.get(name) or _KEPT_IN.get(group) or version
    digest = hashlib.sha256(f"{group}/{version}/{name}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
