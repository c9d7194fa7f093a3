"""Questions instead of objects: who am I, may this user do that, whose token is this."""

from typing import Final

from aiohttp import web

from winkube.api.errors import BadRequestError
from winkube.apiserver.auth.authz import Attributes, Authorizer, Rules
from winkube.apiserver.auth.token import InvalidTokenError, TokenAuthority
from winkube.apiserver.auth.user import User
from winkube.apiserver.body import decode, read_body, require_object
from winkube.apiserver.call import Call, reply_json
from winkube.apiserver.edge import Edge
from winkube.base.types import JsonObject

_AUTHORIZATION: Final = "authorization.k8s.io"
_AUTHENTICATION: Final = "authentication.k8s.io"


class Reviews:
    def __init__(self, authorizer: Authorizer, tokens: TokenAuthority) -> None:
        self._authorizer = authorizer
        self._tokens = tokens

    def install(self, edge: Edge) -> None:
        for plural in ("subjectaccessreviews", "localsubjectaccessreviews"):
            edge.add_creation(_AUTHORIZATION, plural, self.subject_access)
        edge.add_creation(_AUTHORIZATION, "selfsubjectaccessreviews", self.self_access)
        edge.add_creation(_AUTHORIZATION, "selfsubjectrulesreviews", self.self_rules)
        edge.add_creation(_AUTHENTICATION, "tokenreviews", self.token)
        edge.add_creation(_AUTHENTICATION, "selfsubjectreviews", self.self_subject)

    async def subject_access(self, call: Call) -> web.Response:
        review = await _body(call)
        spec = review.get("spec") or {}
        extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
        user = User(
            spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra
        )
        return self._access(call, review, user)

    async def self_access(self, call: Call) -> web.Response:
        return self._access(call, await _body(call), call.user)

    def _access(self, call: Call, review: JsonObject, user: User) -> web.Response:
        spec = review.get("spec") or {}
        resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        if bool(resource) == bool(path):
            raise BadRequestError(
                "spec.resourceAttributes: Invalid value: exactly one of nonResourceAttributes or "
                "resourceAttributes must be specified"
            )
        decision = self._authorizer.authorize(_attributes(user, resource or {}, path or {}))
        status: JsonObject = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        return _answer(call, review, status)

    async def self_rules(self, call: Call) -> web.Response:
        review = await _body(call)
        namespace = (review.get("spec") or {}).get("namespace", "")
        rules: Rules = self._authorizer.rules(call.user, namespace)
        status = {
            "resourceRules": rules.resources,
            "nonResourceRules": rules.paths,
            "incomplete": False,
        }
        return _answer(call, review, status)

    async def token(self, call: Call) -> web.Response:
        review = await _body(call)
        spec = review.get("spec") or {}
        try:
            user, shared = self._tokens.verify(spec.get("token", ""), spec.get("audiences") or ())
        except InvalidTokenError as error:
            return _answer(call, review, {"authenticated": False, "user": {}, "error": str(error)})
        status = {"authenticated": True, "user": user.to_json(), "audiences": shared}
        return _answer(call, review, status)

    async def self_subject(self, call: Call) -> web.Response:
        return _answer(call, await _body(call), {"userInfo": call.user.to_json()})


async def _body(call: Call) -> JsonObject:
    raw = await read_body(call.request)
    return require_object(await decode(raw, call.request.headers.get("Content-Type", "")))


def _attributes(user: User, resource: JsonObject, path: JsonObject) -> Attributes:
    if path:
        return Attributes(user, path.get("verb", ""), path=path.get("path", ""))
    return Attributes(
        user=user,
        verb=resource.get("verb", ""),
        group=resource.get("group", ""),
        version=resource.get("version", ""),
        resource=resource.get("resource", ""),
        subresource=resource.get("subresource", ""),
        namespace=resource.get("namespace", ""),
        name=resource.get("name", ""),
    )


def _answer(call: Call, review: JsonObject, status: JsonObject) -> web.Response:
    kind = call.served.kind
    metadata = {"creationTimestamp": None, **(review.get("metadata") or {})}
    document = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
    if "spec" in review:
        document["spec"] = review["spec"]
    return reply_json({**document, "status": status}, 201)
