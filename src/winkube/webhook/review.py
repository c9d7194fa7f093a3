"""AdmissionReview of admission.k8s.io/v1: bytes of anybody in, a question out; and the answer.

The API server is believed about what it asks, and about nothing else: whatever can reach the port
can send anything.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from winkube.base.types import JsonObject
from winkube.rules.admission.answer import Opinion, Question
from winkube.rules.admission.place import Operation
from winkube.webhook.errors import ReviewError, TooLargeError

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
# An API server takes 3 MiB, and sends the old object along with the new one.
MOST_BYTES: Final = 8 << 20
# No object of Kubernetes nests as deep; what does is made to hurt.
MOST_LEVELS: Final = 100
_OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
_LONGEST_UID: Final = 256


@dataclass(frozen=True, slots=True)
class Review:
    """``question`` is None where there is no object to look at."""

    uid: str
    question: Question | None


def parse_review(body: bytes) -> Review:
    if len(body) > MOST_BYTES:
        raise TooLargeError(f"the review has more than {MOST_BYTES} bytes")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ReviewError(f"the body is no JSON: {error}") from None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise ReviewError(f"the body is no {KIND}")
    if document.get("apiVersion") != API_VERSION:
        raise ReviewError(f"the review is not of {API_VERSION}")
    request = document.get("request")
    if not isinstance(request, dict):
        raise ReviewError("the review has no request")
    if is_too_deep(request):
        raise ReviewError(f"the request nests more than {MOST_LEVELS} levels deep")
    return Review(_uid(request), _question(request))


def to_answer(review: Review, opinion: Opinion, operations: Sequence[Operation] = ()) -> bytes:
    response: JsonObject = {"uid": review.uid, "allowed": not opinion.refusal}
    if opinion.warnings:
        response["warnings"] = list(opinion.warnings)
    if opinion.refusal:
        response["status"] = {
            "status": "Failure",
            "code": 403,
            "reason": "Forbidden",
            "message": opinion.refusal,
        }
    if operations:
        patch = orjson.dumps(list(operations))
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    return orjson.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [
            below
            for each in level
            for below in (each.values() if isinstance(each, dict) else each)
            if isinstance(below, dict | list)
        ]
        if not level:
            return False
    return True


def _uid(request: JsonObject) -> str:
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid or len(uid) > _LONGEST_UID:
        raise ReviewError("the request has no uid")
    return uid


def _question(request: JsonObject) -> Question | None:
    operation = request.get("operation")
    if operation not in _OPERATIONS:
        raise ReviewError("the request's operation is none of Kubernetes'")
    obj, old = request.get("object"), request.get("oldObject")
    if not isinstance(obj, dict):
        return None
    return Question(
        operation,
        _resource(request.get("resource")),
        _user(request.get("userInfo")),
        obj,
        old if isinstance(old, dict) else None,
        str(request.get("subResource") or ""),
    )


def _resource(resource: Any) -> str:
    if not isinstance(resource, dict) or not isinstance(resource.get("resource"), str):
        raise ReviewError("the request names no resource")
    group = resource.get("group")
    plural: str = resource["resource"]
    return f"{plural}.{group}" if group else plural


def _user(info: Any) -> str:
    name = info.get("username") if isinstance(info, dict) else None
    return name if isinstance(name, str) else ""
