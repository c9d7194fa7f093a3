"""Questions instead of objects: who am I, may this user do that, whose token is this."""

from collections.abc import Iterator, Sequence
from typing import Final

import orjson
from aiohttp import web

from winkube.api.errors import BadRequestError, Cause, InvalidError
from winkube.apiserver.auth.authz import Attributes, Authorizer, Rules
from winkube.apiserver.auth.token import ForeignTokenError, InvalidTokenError, TokenAuthority
from winkube.apiserver.auth.user import User
from winkube.apiserver.body import decode_as, read_body, require_object
from winkube.apiserver.call import Call, reply_json
from winkube.apiserver.edge import Edge
from winkube.apiserver.negotiate import negotiate
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.subresource.admitted import Creation, require_types
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
        self._schema = registry.schema
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
        return self._access(call, review, user, list(_subject_causes(call, spec)))

    async def self_access(self, call: Call) -> web.Response:
        return self._access(call, await self._body(call), call.user)

    def _access(
        self, call: Call, review: JsonObject, user: User, more: Sequence[Cause] = ()
    ) -> web.Response:
        spec = review.get("spec") or {}
        resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        causes = [*_attribute_causes(resource, path), *more]
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
        status = {
            "resourceRules": rules.resources,
            "nonResourceRules": rules.paths,
            "incomplete": False,
        }
        return _answer(call, review, status)

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
        metadata = review.get("metadata") or {}
        review["metadata"] = {**metadata, "creationTimestamp": to_rfc3339(self._clock.now())}
        return _answer(call, review, {"userInfo": call.user.to_json()})

    async def _body(self, call: Call) -> JsonObject:
        # An answer has no columns, so nobody gets it as a table.
        negotiate(call.request.headers.get("Accept", ""), tables=False)
        raw = await read_body(call.request)
        review = require_object(await decode_as(call.served.kind.kind, raw, call.request))
        require_types(self._schema, call, review)
        review["status"] = dict(_UNANSWERED[call.served.kind.kind])
        options = WriteOptions.parse(call.user, call.query, "Create")
        creation = Creation(self._admission, call, review, options)
        await creation.admit()
        await creation.validate()
        return review


def _attribute_causes(resource: JsonObject | None, path: JsonObject | None) -> Iterator[Cause]:
    if resource is None and path is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield Cause("FieldValueInvalid", f"Invalid value: null: {text}", "spec.resourceAttributes")
    elif resource is not None and path is not None:
        shown = _shown(path)
        text = f"Invalid value: {shown}: cannot be specified in combination with resourceAttributes"
        yield Cause("FieldValueInvalid", text, "spec.nonResourceAttributes")


def _shown(path: JsonObject) -> str:
    """As upstream's own type prints itself."""
    fields = {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
    return orjson.dumps(fields).decode()


def _subject_causes(call: Call, spec: JsonObject) -> Iterator[Cause]:
    if not spec.get("user") and not spec.get("groups"):
        text = 'Invalid value: "": at least one of user or group must be specified'
        yield Cause("FieldValueInvalid", text, "spec.user")
    namespace = call.target.namespace
    if not namespace:
        return
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    asked = (resource or {}).get("namespace", "")
    if resource is not None and asked != namespace:
        text = f'Invalid value: "{asked}": must match metadata.namespace'
        yield Cause("FieldValueInvalid", text, "spec.resourceAttributes.namespace")
    if path is not None:
        shown = _shown(path)
        text = f"Invalid value: {shown}: disallowed on this kind of request"
        yield Cause("FieldValueInvalid", text, "spec.nonResourceAttributes")


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
    return reply_json({**document, "status": status}, 201)
