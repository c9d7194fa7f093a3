"""Questions instead of objects: who am I, may this user do that, whose token is this."""

from typing import Final

from aiohttp import web

from winkube.api.decode import in_order
from winkube.api.errors import BadRequestError, InvalidError
from winkube.api.validation.server.access_review import validate_access_review
from winkube.apiserver.auth.authz import Attributes, Authorizer, Rules
from winkube.apiserver.auth.token import ForeignTokenError, InvalidTokenError, TokenAuthority
from winkube.apiserver.auth.user import User
from winkube.apiserver.call import Call, reply_json
from winkube.apiserver.edge import Edge
from winkube.apiserver.negotiate import negotiate
from winkube.apiserver.protobuf.order import in_struct_order
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.subresource.admitted import Creation
from winkube.apiserver.subresource.posted import read_posted
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

_AUTHORIZATION: Final = "authorization.k8s.io"
_AUTHENTICATION: Final = "authentication.k8s.io"
_BEARER: Final = "invalid bearer token"
# What a review says before it is answered.
_ACCESS: Final[JsonObject] = {"allowed": False}
_UNANSWERED: Final[dict[str, JsonObject]] = {
    "SubjectAccessReview": _ACCESS,
    "LocalSubjectAccessReview": _ACCESS,
    "SelfSubjectAccessReview": _ACCESS,
    "SelfSubjectRulesReview": {
        "resourceRules": None,
        "nonResourceRules": None,
        "incomplete": False,
    },
    "TokenReview": {"user": {}},
    "SelfSubjectReview": {"userInfo": {}},
}


class Reviews:
    def __init__(self, authorizer: Authorizer, tokens: TokenAuthority, registry: Registry) -> None:
        self._clock = registry.clock
        self._registry = registry
        self._admission = registry.admission
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
        review = await self._body(call)
        spec = review.get("spec") or {}
        extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
        user = User(
            spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra
        )
        return self._access(call, review, user, names_subject=True)

    async def self_access(self, call: Call) -> web.Response:
        return self._access(call, await self._body(call), call.user, names_subject=False)

    def _access(
        self, call: Call, review: JsonObject, user: User, *, names_subject: bool
    ) -> web.Response:
        spec, namespace = review.get("spec") or {}, call.target.namespace
        resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        shown = in_struct_order(call.served.kind, in_order(review))
        causes = validate_access_review(shown, names_subject=names_subject, namespace=namespace)
        if causes:
            raise InvalidError.of("", "", causes, group=_AUTHORIZATION)
        decision = self._authorizer.authorize(_attributes(user, resource or {}, path or {}))
        status: JsonObject = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        return _answer(call, review, status)

    async def self_rules(self, call: Call) -> web.Response:
        review = await self._body(call)
        namespace = (review.get("spec") or {}).get("namespace", "")
        rules: Rules = self._authorizer.rules(call.user, namespace)
        status: JsonObject = {
            "resourceRules": rules.resources,
            "nonResourceRules": rules.paths,
            "incomplete": bool(rules.gap),
        }
        if rules.gap:
            status["evaluationError"] = rules.gap
        # Upstream repeats nothing of what was asked.
        return _answer(call, {"spec": {}}, status)

    async def token(self, call: Call) -> web.Response:
        review = await self._body(call)
        spec = review.get("spec") or {}
        if not spec.get("token"):
            raise BadRequestError("token is required for TokenReview in authentication")
        try:
            user, shared = self._tokens.verify(spec["token"], spec.get("audiences") or ())
        except ForeignTokenError:
            return _answer(call, review, {"user": {}, "error": _BEARER})
        except InvalidTokenError as error:
            return _answer(call, review, {"user": {}, "error": f"[{_BEARER}, {error}]"})
        status = {"authenticated": True, "user": user.to_json(), "audiences": shared}
        return _answer(call, review, status)

    async def self_subject(self, call: Call) -> web.Response:
        review = await self._body(call)
        review["metadata"] = {"creationTimestamp": to_rfc3339(self._clock.now())}
        return _answer(call, review, {"userInfo": call.user.to_json()})

    async def _body(self, call: Call) -> JsonObject:
        # An answer has no columns, so nobody gets it as a table.
        negotiate(call.request.headers.get("Accept", ""), tables=False)
        review, options = await read_posted(self._registry, call)
        review["status"] = dict(_UNANSWERED[call.served.kind.kind])
        creation = Creation(self._admission, call, review, options)
        await creation.admit()
        await creation.validate()
        return review


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
    metadata = dict(review.get("metadata") or {})
    if call.target.namespace:
        metadata["namespace"] = call.target.namespace
    document = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
    if "spec" in review:
        document["spec"] = review["spec"]
    return reply_json({**document, "status": status}, 201, warnings=call.warnings)
