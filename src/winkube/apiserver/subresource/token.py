"""serviceaccounts/token: a bound token for an account (TokenRequest)."""

from typing import Any, Final

from aiohttp import web

from winkube.api.errors import BadRequestError, Cause, ConflictError, InvalidError, NotFoundError
from winkube.apiserver.admission.node_token import NodeTokens
from winkube.apiserver.auth.authz import Authorizer
from winkube.apiserver.auth.token import Binding, TokenAuthority
from winkube.apiserver.body import decode, read_body, require_object
from winkube.apiserver.call import Call, not_allowed, reply_json
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.subresource.admitted import Creation
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

_GROUP: Final = "authentication.k8s.io"
_SHORTEST: Final = 600
_LONGEST: Final = 1 << 32
_DEFAULT: Final = 3600
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class Token:
    def __init__(self, tokens: TokenAuthority, registry: Registry, authorizer: Authorizer) -> None:
        self._tokens = tokens
        self._nodes = NodeTokens(registry.resources, authorizer)
        self._resources = registry.resources
        self._admission = registry.admission

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb != "create":
            raise not_allowed()
        raw = await read_body(call.request)
        content_type = call.request.headers.get("Content-Type", "")
        request = require_object(await decode(raw, content_type)) if raw.strip() else {}
        _check_types(request.get("spec") or {})
        write = WriteOptions.parse(call.user, call.query, "Create")
        creation = Creation(self._admission, call, request, write)
        await creation.admit()
        spec = request.get("spec") or {}
        self._nodes.check(call.user, call.place, spec)
        metadata = request.get("metadata") or {}
        _check_place(call, metadata)
        account = get(call.served, *call.place).load()
        _check_uid(account, metadata.get("uid"))
        seconds = _seconds(spec)
        binding = self._binding(account, spec.get("boundObjectRef"))
        audiences = spec.get("audiences") or [self._tokens.issuer]
        token, expires = self._tokens.issue(binding, audiences, seconds)
        request["metadata"] = {
            "name": call.target.name,
            "namespace": call.target.namespace,
            "uid": account["metadata"]["uid"],
            "creationTimestamp": to_rfc3339(expires - seconds),
        }
        request["spec"] = {
            "boundObjectRef": None,
            **spec,
            "audiences": audiences,
            "expirationSeconds": seconds,
        }
        request["status"] = {"token": "", "expirationTimestamp": None}
        await creation.validate()
        status = {"token": token, "expirationTimestamp": to_rfc3339(expires)}
        answer = {name: request[name] for name in ("kind", "apiVersion", "metadata", "spec")}
        return reply_json({**answer, "status": status}, 201)

    def _binding(self, account: JsonObject, ref: JsonObject | None) -> Binding:
        metadata = account["metadata"]
        namespace = metadata["namespace"]
        plain = Binding(namespace, (metadata["name"], metadata["uid"]))
        if not ref:
            return plain
        kind, name = ref.get("kind", ""), ref.get("name", "")
        plural = _BINDABLE.get(kind)
        if plural is None:
            group, _, version = str(ref.get("apiVersion") or "").rpartition("/")
            raise BadRequestError(
                f"cannot bind token to object of type {group}/{version}, Kind={kind}"
            )
        served = self._resources.core(plural)
        item = served.cache.get(served.key(namespace if kind != "Node" else "", name))
        if item is None:
            raise NotFoundError.of(plural, name)
        bound = item.load()
        uid = bound["metadata"]["uid"]
        if ref.get("uid") not in (None, "", uid):
            text = (
                f"the UID in the bound object reference ({ref['uid']}) does not match the UID in "
                f"record. The object might have been deleted and then recreated"
            )
            raise ConflictError.of(kind, name, text)
        if kind == "Pod":
            return self._pod_binding(plain, bound)
        part = "secret" if kind == "Secret" else "node"
        return Binding(namespace, plain.account, **{part: (name, uid)})

    def _pod_binding(self, plain: Binding, pod: JsonObject) -> Binding:
        spec, metadata = pod["spec"], pod["metadata"]
        runs_as = spec.get("serviceAccountName")
        if runs_as != plain.account[0]:
            raise BadRequestError(
                f'cannot bind token for serviceaccount "{plain.account[0]}" to pod running with '
                "different serviceaccount name."
            )
        return Binding(
            plain.namespace,
            plain.account,
            pod=(metadata["name"], metadata["uid"]),
            node=self._node(spec.get("nodeName")),
        )

    def _node(self, name: str | None) -> tuple[str, str] | None:
        served = self._resources.core("nodes")
        item = served.cache.get(served.key("", name)) if name else None
        return None if item is None else (item.name, item.load()["metadata"]["uid"])


def _check_place(call: Call, metadata: JsonObject) -> None:
    """What the body says about itself must be what the path says."""
    namespace, name = call.place
    if metadata.get("namespace") not in (None, "", namespace):
        raise BadRequestError(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    said = metadata.get("name")
    if said not in (None, "", name):
        text = f'Invalid value: "{said}": must match the service account name if specified'
        cause = Cause("FieldValueInvalid", text, "metadata.name")
        raise InvalidError.of("TokenRequest", name, [cause], group=_GROUP)


def _check_uid(account: JsonObject, said: str | None) -> None:
    metadata = account["metadata"]
    if said and said != metadata["uid"]:
        text = (
            f"the UID in the token request ({said}) does not match the UID of the service account "
            f"({metadata['uid']})"
        )
        raise ConflictError.of("TokenRequest", metadata["name"], text, group=_GROUP)


def _check_types(spec: Any) -> None:
    problem = ""
    if not isinstance(spec, dict):
        problem = "spec: an object is expected"
    elif not isinstance(spec.get("expirationSeconds") or 0, int):
        problem = "spec.expirationSeconds: a number is expected"
    elif not isinstance(spec.get("boundObjectRef") or {}, dict):
        problem = "spec.boundObjectRef: an object is expected"
    else:
        audiences = spec.get("audiences") or []
        if not isinstance(audiences, list) or not all(isinstance(a, str) for a in audiences):
            problem = "spec.audiences: a list of strings is expected"
    if problem:
        raise BadRequestError(f"TokenRequest cannot be handled: {problem}")


def _seconds(spec: JsonObject) -> int:
    seconds = int(spec.get("expirationSeconds") or _DEFAULT)
    problem = ""
    if seconds < _SHORTEST:
        problem = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST:
        problem = "may not specify a duration larger than 2^32 seconds"
    if problem:
        cause = Cause(
            "FieldValueInvalid", f"Invalid value: {seconds}: {problem}", "spec.expirationSeconds"
        )
        raise InvalidError.of("TokenRequest", "", [cause], group=_GROUP)
    return seconds
