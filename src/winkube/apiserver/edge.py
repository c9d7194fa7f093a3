"""The HTTP edge: authenticate, route, authorise, dispatch; every error leaves as a Status.

This is the one place of the API server that catches everything.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final, Protocol

from aiohttp import web

from winkube.api.errors import (
    ApiError,
    ForbiddenError,
    InternalError,
    MethodNotAllowedError,
    NoPageError,
    NoRouteError,
    NotFoundError,
    UnauthorizedError,
    UnavailableError,
)
from winkube.api.selector.fields import parse_field_selector
from winkube.apiserver.auth.authn import Authenticator
from winkube.apiserver.auth.authz import Attributes, Authorizer, refusal
from winkube.apiserver.auth.impersonation import demands, impersonated_user
from winkube.apiserver.auth.user import ANONYMOUS, User
from winkube.apiserver.call import Call, reply_error, send_long, warning_header
from winkube.apiserver.form.deprecation import Deprecations
from winkube.apiserver.negotiate import negotiate
from winkube.apiserver.pages.metrics import Metrics
from winkube.apiserver.registry.core import check_namespace
from winkube.apiserver.served import Resources
from winkube.apiserver.target import Target, parse_target, split_url
from winkube.apiserver.turns import STREAMED, Turns
from winkube.apiserver.verbs import Verbs, is_watch
from winkube.store.errors import StoreError

log = logging.getLogger(__name__)

PageHandler = Callable[[web.BaseRequest, str], Awaitable[web.StreamResponse]]
SubresourceHandler = Callable[[Call], Awaitable[web.StreamResponse]]
RemoteHandler = Callable[[web.BaseRequest, User], Awaitable[web.StreamResponse]]

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "HEAD": "get"}
# All that somebody without credentials can ever reach, whatever roles say.
_OPEN: Final = frozenset({"/healthz", "/livez", "/readyz"})
_READ: Final = frozenset({"list", "watch"})
_OF_MANY: Final = _READ | {"deletecollection"}


class Delegate(Protocol):
    """Knows which group versions other servers answer for."""

    def find(self, target: Target) -> RemoteHandler | None: ...


class Edge:
    def __init__(
        self,
        authenticator: Authenticator,
        authorizer: Authorizer,
        resources: Resources,
        verbs: Verbs,
        metrics: Metrics,
    ) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._resources = resources
        self._verbs = verbs
        self._metrics = metrics
        self._turns = Turns()
        self._pages: dict[str, PageHandler] = {}
        self._trees: list[tuple[str, PageHandler]] = []
        self._parts: dict[tuple[str, str], SubresourceHandler] = {}
        self._virtual: dict[tuple[str, str], SubresourceHandler] = {}
        self._creations: dict[tuple[str, str], SubresourceHandler] = {}
        self._delegate: Delegate | None = None
        self._deprecations = Deprecations("1.0")
        self._groups = frozenset(served.kind.group for served in resources.all())

    def delegate(self, delegate: "Delegate") -> None:
        """Pass on what another server answers for."""
        self._delegate = delegate

    def deprecate(self, deprecations: Deprecations) -> None:
        """Warn clients of kinds they should no longer use."""
        self._deprecations = deprecations

    def add_page(self, path: str, handler: PageHandler) -> None:
        """Serve exactly this path."""
        self._pages[path] = handler

    def add_tree(self, prefix: str, handler: PageHandler) -> None:
        """Serve every path that starts so."""
        self._trees.append((prefix, handler))

    def add_subresource(self, plural: str, name: str, handler: SubresourceHandler) -> None:
        """``plural`` "*" serves the subresource of every kind that has it."""
        self._parts[plural, name] = handler

    def add_virtual(self, group: str, plural: str, handler: SubresourceHandler) -> None:
        """Kinds that nobody keeps: every verb is answered by the handler."""
        self._virtual[group, plural] = handler

    def add_creation(self, group: str, plural: str, handler: SubresourceHandler) -> None:
        """Kinds that are asked, not stored (reviews, bindings)."""
        self._creations[group, plural] = handler

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._serve(request)
        except ApiError as error:
            return await send_long(request, reply_error(error, request.headers.get("Accept", "")))
        except StoreError as error:
            log.exception("store refused", extra={"path": request.raw_path, "error": str(error)})
            return reply_error(UnavailableError(str(error)))
        except ConnectionError:
            raise  # the client is gone: nobody to answer
        except Exception:
            log.exception("request failed", extra={"path": request.raw_path})
            return reply_error(InternalError("Internal error occurred: see the server's log"))

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        path, query = split_url(request.raw_path)
        user = self._authenticator.authenticate(request)
        if user is ANONYMOUS and path not in _OPEN:
            raise UnauthorizedError
        wanted = impersonated_user(request)
        if wanted is not None:
            self._authorize_impersonation(user, wanted)
            user = wanted
        page = self._pages.get(path)
        if page is not None:
            answer = await self._serve_page(request, path, user, page)
            if user is ANONYMOUS:
                answer.force_close()
            return answer
        target = parse_target(path)
        if target is not None and self._delegate is not None:
            remote = self._delegate.find(target)
            if remote is not None:
                return await self._pass_on(request, target, user, remote)
        if target is None or not target.resource:
            return await self._serve_tree(request, path, user)
        return await self._serve_resource(request, target, query, user)

    async def _serve_page(
        self, request: web.BaseRequest, path: str, user: User, page: PageHandler
    ) -> web.StreamResponse:
        verb = "get" if request.method in ("GET", "HEAD") else request.method.lower()
        attributes = Attributes(user, verb, path=path)
        is_open = verb == "get" and path in _OPEN
        if not is_open and not self._authorizer.authorize(attributes).allowed:
            if user is ANONYMOUS:
                raise UnauthorizedError
            raise ForbiddenError(f"forbidden: {refusal(attributes)}", details={})
        return await page(request, path)

    async def _serve_tree(
        self, request: web.BaseRequest, path: str, user: User
    ) -> web.StreamResponse:
        for prefix, handler in self._trees:
            if path.startswith(prefix):
                return await self._serve_page(request, path, user, handler)
        return await self._serve_page(request, path, user, self._nothing)

    async def _nothing(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        raise self._nothing_at(path)

    def _nothing_at(self, path: str) -> NotFoundError:
        """Below a group that is served, and beside the version, a Status; elsewhere a bare page."""
        parts = path.strip("/").split("/")
        is_known = parts[0] == "apis" and not self._groups.isdisjoint(parts[1:2])
        if is_known or parts[0] in ("api", "version"):
            return NoRouteError()
        return NoPageError()

    async def _serve_resource(
        self, request: web.BaseRequest, target: Target, query: dict[str, str], user: User
    ) -> web.StreamResponse:
        verb = _verb(request.method, target, query)
        self._authorize(user, verb, target, query.get("fieldSelector", ""))
        served = self._resources.find(target.group, target.version, target.resource)
        if served is None:
            raise self._nothing_at(split_url(request.raw_path)[0])
        check_namespace(target.namespace)
        if bool(target.namespace) != served.kind.namespaced and (target.namespace or target.name):
            raise NoRouteError
        call = Call(request, target, served, verb, user, query)
        # Any Accept header will do for those that stream.
        if target.subresource not in STREAMED:
            call.output = negotiate(request.headers.get("Accept", ""), many=verb in _OF_MANY)
        warning = self._deprecations.warning(served.kind)
        if warning and verb == "watch":  # its headers are gone before it ends
            call.warnings = [warning]
        start = time.perf_counter()
        try:
            response = await self._turns.serve(call, self._handler(call))
        except ApiError as error:
            told = warning and not isinstance(error, MethodNotAllowedError | NoRouteError)
            error.warnings = [warning, *call.warnings] if told else call.warnings
            raise
        finally:
            # Names that somebody made up are not kept.
            known = target.subresource in ("", *served.kind.subresources)
            counted = target if known else replace(target, subresource="")
            self._metrics.count(verb, counted, time.perf_counter() - start)
        if warning and not response.prepared:
            others = response.headers.popall("Warning", [])
            for header in (warning_header(warning), *others):
                response.headers.add("Warning", header)
        return response

    async def _pass_on(
        self, request: web.BaseRequest, target: Target, user: User, remote: RemoteHandler
    ) -> web.StreamResponse:
        path, query = split_url(request.raw_path)
        if not target.resource:
            return await self._serve_page(
                request, path, user, lambda request, _: remote(request, user)
            )
        verb = _verb(request.method, target, query)
        self._authorize(user, verb, target, query.get("fieldSelector", ""))
        if target.is_ambiguous:
            raise NoRouteError
        return await remote(request, user)

    def _handler(self, call: Call) -> SubresourceHandler:
        target, kind = call.target, call.served.kind
        if not target.subresource:
            virtual = self._virtual.get((kind.group, kind.plural))
            if virtual is not None:
                return virtual
            special = self._creations.get((kind.group, kind.plural))
            if special is None or call.verb != "create":
                return self._verbs.handle
            if target.name:
                raise NoRouteError
            return special
        handler = self._parts.get((kind.plural, target.subresource)) or self._parts.get(
            ("*", target.subresource)
        )
        if handler is None or target.subresource not in kind.subresources:
            raise NoRouteError
        return handler

    def _authorize(self, user: User, verb: str, target: Target, fields: str) -> None:
        many = verb in _OF_MANY
        attributes = Attributes(
            user=user,
            verb=verb,
            group=target.group,
            version=target.version,
            resource=target.resource,
            subresource=target.subresource,
            namespace=target.namespace or (target.name if target.resource == "namespaces" else ""),
            name=target.name or (self._selected_name(target, fields) if verb in _READ else ""),
            fields=fields if many else "",
        )
        decision = self._authorizer.authorize(attributes)
        if decision.allowed:
            return
        if user is ANONYMOUS:
            raise UnauthorizedError
        raise forbidden(target, refusal(attributes, decision.reason))

    def _selected_name(self, target: Target, fields: str) -> str:
        """A list of one object, chosen by its name, is asked about as that object."""
        served = self._resources.find(target.group, target.version, target.resource)
        if served is None or "metadata.name" not in fields:
            return ""
        try:
            return parse_field_selector(fields, served.kind).exact("metadata.name") or ""
        except ApiError:
            return ""  # it is refused when it is read

    def _authorize_impersonation(self, user: User, wanted: User) -> None:
        for attributes in demands(user, wanted):
            if not self._authorizer.authorize(attributes).allowed:
                target = Target(attributes.group, "v1", attributes.resource, name=attributes.name)
                raise forbidden(target, refusal(attributes))


def forbidden(target: Target, cause: str) -> ForbiddenError:
    resource = f"{target.resource}.{target.group}" if target.group else target.resource
    subject = f'{resource} "{target.name}"' if target.name else resource
    details: dict[str, object] = {"name": target.name} if target.name else {}
    if target.group:
        details["group"] = target.group
    details["kind"] = target.resource
    return ForbiddenError(f"{subject} is forbidden: {cause}", details=details)


def _verb(method: str, target: Target, query: Mapping[str, str]) -> str:
    if method in ("GET", "HEAD"):
        if target.subresource:
            return "get"
        if target.watch or (not target.name and "watch" in query and is_watch(dict(query))):
            return "watch"
        return "get" if target.name else "list"
    if method == "DELETE":
        return "delete" if target.name else "deletecollection"
    return _VERBS.get(method, method.lower())
