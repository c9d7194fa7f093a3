"""serviceaccounts/token: a bound token for an account (TokenRequest)."""

from typing import Final

from aiohttp import web

from winkube.api.errors import BadRequestError, ConflictError, InvalidError, NotFoundError
from winkube.api.validation.problems import Problems
from winkube.apiserver.admission.node_token import NodeTokens
from winkube.apiserver.auth.authz import Authorizer
from winkube.apiserver.auth.token import Binding, TokenAuthority
from winkube.apiserver.call import Call, not_allowed, reply_json
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.subresource.admitted import Creation
from winkube.apiserver.subresource.posted import read_posted
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

_GROUP: Final = "authentication.k8s.io"
_SHORTEST: Final = 600
_LONGEST: Final = 1 << 32
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class Token:
    def __init__(self, tokens: TokenAuthority, registry: Registry, authorizer: Authorizer) -> None:
        self._tokens = tokens
        self._nodes = NodeTokens(registry.resources, authorizer)
        self._registry = registry
        self._resources = registry.resources
        self._admission = registry.admission

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb != "create":
            raise not_allowed()
        request, write = await read_posted(self._registry, call)
        creation = Creation(self._admission, call, request, write)
        await creation.admit()
        spec, metadata = request["spec"], request["metadata"]
        self._nodes.check(call.user, call.place, spec)
        _check_name(call.target.name, metadata)
        account = get(call.served, *call.place).load()
        _check_uid(account, metadata.get("uid"))
        self._complete(request, account)
        _check_seconds(spec["expirationSeconds"])
        await creation.validate()
        binding = self._binding(account, spec.get("boundObjectRef"))
        token, expires = self._tokens.issue(binding, spec["audiences"], spec["expirationSeconds"])
        request["status"] = {"token": token, "expirationTimestamp": to_rfc3339(expires)}
        return reply_json(request, 201, warnings=call.warnings)

    def _complete(self, request: JsonObject, account: JsonObject) -> None:
        """What the request leaves open, and what is not for it to say."""
        metadata, spec = request["metadata"], request["spec"]
        metadata.setdefault("name", account["metadata"]["name"])
        metadata["uid"] = account["metadata"]["uid"]
        metadata["creationTimestamp"] = to_rfc3339(self._registry.clock.now())
        spec["audiences"] = spec.get("audiences") or [self._tokens.issuer]
        request["status"] = {"token": "", "expirationTimestamp": None}

    def _binding(self, account: JsonObject, ref: JsonObject | None) -> Binding:
        metadata = account["metadata"]
        namespace = metadata["namespace"]
        plain = Binding(namespace, (metadata["name"], metadata["uid"]))
        if ref is None:
            return plain
        kind, name = ref.get("kind") or "", ref.get("name") or ""
        group, version = _parsed(ref.get("apiVersion") or "")
        plural = "" if group else _BINDABLE.get(kind)
        if not plural:
            raise BadRequestError(
                f"cannot bind token to object of type {group}/{version}, Kind={kind}"
            )
        if not name:
            raise BadRequestError("Name parameter required.")
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


def _parsed(api_version: str) -> tuple[str, str]:
    """Group and version; neither, if it is no version at all."""
    group, _, version = api_version.partition("/")
    if not version:
        group, version = "", group
    return ("", "") if "/" in version else (group, version)


def _check_name(name: str, metadata: JsonObject) -> None:
    said = metadata.get("name")
    if said and said != name:
        problems = Problems()
        text = "must match the service account name if specified"
        problems.invalid("metadata.name", said, text)
        raise InvalidError.of("TokenRequest", name, problems.causes, group=_GROUP)


def _check_uid(account: JsonObject, said: str | None) -> None:
    metadata = account["metadata"]
    if said and said != metadata["uid"]:
        text = (
            f"the UID in the token request ({said}) does not match the UID of the service account "
            f"({metadata['uid']})"
        )
        raise ConflictError.of("TokenRequest", metadata["name"], text, group=_GROUP)


def _check_seconds(seconds: int) -> None:
    problems, path = Problems(), "spec.expirationSeconds"
    if seconds < _SHORTEST:
        problems.invalid(path, seconds, "may not specify a duration less than 10 minutes")
    elif seconds > _LONGEST:
        problems.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")
    if problems:
        raise InvalidError.of("TokenRequest", "", problems.causes, group=_GROUP)
