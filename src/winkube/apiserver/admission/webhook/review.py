"""The question a webhook is asked, and what its answer has to look like."""

import base64
import binascii
import string
import uuid
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from winkube.api.errors import (
    ApiError,
    BadRequestError,
    ForbiddenError,
)
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.admission.webhook.shape import ShapeError, go_type, read_response
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject

_GROUP: Final = "admission.k8s.io"
_VERSIONS: Final = ("v1", "v1beta1")
_OPTIONS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


_BASE64: Final = frozenset(string.ascii_letters + string.digits + "+/=")


class CallError(WinkubeError):
    """A webhook that could not be asked, or whose answer is none."""


class UnreadableError(CallError):
    """An answer that is no document of its kind."""


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    status: JsonObject = field(default_factory=dict)
    patch: bytes = b""
    patch_type: str = "JSONPatch"
    warnings: tuple[str, ...] = ()


def to_review(request: Admission, versions: list[str]) -> JsonObject:
    version = next((each for each in versions if each in _VERSIONS), None)
    if version is None:
        text = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
        raise CallError(f"could not create admission objects: {text}")
    return {
        "kind": "AdmissionReview",
        "apiVersion": f"{_GROUP}/{version}",
        "request": _request(request),
    }


def _request(request: Admission) -> JsonObject:
    kind, spoken = request.served.kind, request.kind
    gvk = {"group": spoken.group, "version": spoken.version, "kind": spoken.kind}
    gvr = {"group": kind.group, "version": kind.version, "resource": kind.plural}
    namespace = request.name if kind.group_resource == "namespaces" else request.namespace
    part = {"subResource": request.subresource} if request.subresource else {}
    asked: JsonObject = {
        "uid": str(uuid.uuid4()),
        "kind": gvk,
        "resource": gvr,
        **part,
        "requestKind": dict(gvk),
        "requestResource": dict(gvr),
        **({"requestSubResource": request.subresource} if request.subresource else {}),
        **({"name": request.name} if request.name else {}),
        **({"namespace": namespace} if namespace else {}),
        "operation": request.operation,
        "userInfo": request.user.to_json(),
        "object": request.obj,
        "oldObject": request.old,
        "dryRun": request.dry_run,
        "options": _options(request),
    }
    return asked


def _options(request: Admission) -> JsonObject | None:
    kind = _OPTIONS.get(request.operation)
    if kind is None:
        return None
    said = {"dryRun": ["All"]} if request.dry_run else {}
    return {"kind": kind, "apiVersion": "meta.k8s.io/v1", **said, **(request.options or {})}


def parse_answer(review: JsonObject, answer: Any, *, mutating: bool) -> Verdict:
    try:
        return _parse(review, answer, mutating=mutating)
    except UnreadableError as error:
        raise CallError(f"failed to call webhook: {error}") from None
    except CallError as error:
        raise CallError(f"received invalid webhook response: {error}") from None


def _parse(review: JsonObject, answer: Any, *, mutating: bool) -> Verdict:
    try:
        response = read_response(answer)
    except ShapeError as error:
        raise UnreadableError(str(error)) from None
    if response is None:
        raise CallError("webhook response was absent")
    if review["apiVersion"] == f"{_GROUP}/v1":
        uid, wanted = response.get("uid") or "", review["request"]["uid"]
        if uid != wanted:
            raise CallError(f'expected response.uid="{wanted}", got "{uid}"')
        found = (answer.get("apiVersion") or "", answer.get("kind") or "")
        if found != (review["apiVersion"], "AdmissionReview"):
            raise CallError(
                f"expected webhook response of {_GROUP}/v1, Kind=AdmissionReview, "
                f"got {found[0] or '/'}, Kind={found[1]}"
            )
        _check_patch(response, mutating=mutating)
    return Verdict(
        bool(response.get("allowed")),
        response.get("status") or {},
        _patch_text(response) if mutating else b"",
        response.get("patchType") or "JSONPatch",
        tuple(text or "" for text in response.get("warnings") or ()),
    )


def _check_patch(response: JsonObject, *, mutating: bool) -> None:
    patch, kind = response.get("patch"), response.get("patchType")
    problem = ""
    if not mutating:
        if patch:
            problem = "validating webhook may not return response.patch"
        elif kind is not None:
            problem = "validating webhook may not return response.patchType"
    elif patch and kind is None:
        problem = "webhook returned response.patch but not response.patchType"
    elif kind is not None and not patch:
        problem = "webhook returned response.patchType but not response.patch"
    elif kind == "":
        problem = 'webhook returned invalid response.patchType of ""'
    if problem:
        raise CallError(problem)


def _patch_text(response: JsonObject) -> bytes:
    """Bytes in JSON are base64; a text that is not does not decode at all."""
    text = str(response.get("patch") or "")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        wrong = next((at for at, char in enumerate(text) if char not in _BASE64), len(text))
        raise UnreadableError(f"illegal base64 data at input byte {wrong}") from None


def read_patch(verdict: Verdict) -> list[Any]:
    """The operations; none when there is nothing to change."""
    if not verdict.patch:
        return []
    try:
        patch = orjson.loads(verdict.patch)
    except orjson.JSONDecodeError as error:
        raise CallError(f"received undecodable patch in webhook response: {error}") from None
    entries = patch if isinstance(patch, list) else ()
    odd = next((each for each in entries if not isinstance(each, dict | None)), None)
    if not isinstance(patch, list) or odd is not None:
        wanted = "jsonpatch.Patch" if odd is None else "jsonpatch.Operation"
        found = go_type(patch if odd is None else odd)
        text = f"json: cannot unmarshal {found} into Go value of type {wanted}"
        raise CallError(f"received undecodable patch in webhook response: {text}")
    if patch and verdict.patch_type != "JSONPatch":
        raise CallError(f'unsupported patch type "{verdict.patch_type}"')
    return patch


def denial(name: str, status: JsonObject) -> ApiError:
    """The webhook's own words, its code and reason, under its name."""
    denied = f'admission webhook "{name}" denied the request'
    message, reason = status.get("message") or "", status.get("reason") or ""
    said = message or reason
    text = f"{denied}: {said}" if said else f"{denied} without explanation"
    code = int(status.get("code") or 0)
    if code < 400:
        code = 400
    return DenialError(text, code, reason, status.get("details"))


class DenialError(ForbiddenError):
    """What a webhook refuses has the code and the reason that it names."""

    def __init__(self, text: str, code: int, reason: str, details: JsonObject | None) -> None:
        super().__init__(text, details=details)
        self.code = code  # type: ignore[misc]
        self.reason = reason  # type: ignore[misc]


def no_dry_run(name: str) -> BadRequestError:
    return BadRequestError(f'admission webhook "{name}" does not support dry run')
