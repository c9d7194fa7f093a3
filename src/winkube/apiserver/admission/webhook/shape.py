"""Whether a webhook's answer has the types of an AdmissionReview, in the words of Go's decoder.

Nothing else is guessed from an answer: a text in the place of a truth value is no permission, and
what cannot be read is the failure of the webhook, which its own policy says what to do about.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject

_GO_TYPES: Final = {
    dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "bool",
    type(None): "null",
}  # fmt: skip
_MAX_INT32: Final = 2**31 - 1
# Fields by name: what Python's decoder makes of them, and what Go's type is called.
_Fields = Mapping[str, tuple[type, str]]
_RESPONSE: Final[_Fields] = {
    "uid": (str, "types.UID"),
    "allowed": (bool, "bool"),
    "status": (dict, "v1.Status"),
    "patch": (str, "[]uint8"),
    "patchType": (str, "v1.PatchType"),
    "auditAnnotations": (dict, "map[string]string"),
    "warnings": (list, "[]string"),
}
_STATUS: Final[_Fields] = {
    "metadata": (dict, "v1.ListMeta"),
    "status": (str, "string"),
    "message": (str, "string"),
    "reason": (str, "v1.StatusReason"),
    "details": (dict, "v1.StatusDetails"),
    "code": (int, "int32"),
}
_DOCUMENT: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)


class ShapeError(WinkubeError):
    pass


def go_type(value: Any) -> str:
    return _GO_TYPES[type(value)]


def no_document(value: Any) -> str:
    """What is said of an answer that is no object."""
    found = f"json: cannot unmarshal {go_type(value)} into Go value of type {_DOCUMENT}"
    return f"couldn't get version/kind; json parse error: {found}"


def read_response(answer: Any) -> JsonObject | None:
    """The response, if there is one, with fields of their types or none."""
    if not isinstance(answer, dict | None):
        raise ShapeError(no_document(answer))
    response = (answer or {}).get("response")
    if response is None:
        return None
    if not isinstance(response, dict):
        raise _misfit(response, "AdmissionReview.response", "v1.AdmissionResponse")
    _check(response, _RESPONSE, "AdmissionResponse.response")
    _check(response.get("status") or {}, _STATUS, "Status.response.status")
    _check_texts(response.get("warnings") or (), "warnings")
    _check_texts((response.get("auditAnnotations") or {}).values(), "auditAnnotations")
    return response


def _check(found: JsonObject, fields: _Fields, path: str) -> None:
    for name, value in found.items():
        wanted, word = fields.get(name, (object, ""))
        if value is not None and not _fits(value, wanted):
            raise _misfit(value, f"{path}.{name}", word)


def _check_texts(texts: Iterable[Any], name: str) -> None:
    for text in texts:
        if not isinstance(text, str | None):
            raise _misfit(text, f"AdmissionResponse.response.{name}", "string")


def _fits(value: Any, wanted: type) -> bool:
    if wanted is int:
        return type(value) is int and abs(value) <= _MAX_INT32
    return isinstance(value, wanted)


def _misfit(value: Any, path: str, word: str) -> ShapeError:
    found = go_type(value)
    if found == "number" and word == "int32":
        found = f"number {value}"
    return ShapeError(f"json: cannot unmarshal {found} into Go struct field {path} of type {word}")
