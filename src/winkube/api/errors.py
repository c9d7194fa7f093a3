"""Errors of the Kubernetes API, with the code and reason clients match on.

ApiError
├── BadRequestError 400           ├── AlreadyExistsError 409
├── UnauthorizedError 401         ├── ConflictError 409
├── ForbiddenError 403            ├── ExpiredError 410
├── NotFoundError 404             ├── RequestTooLargeError 413
├── MethodNotAllowedError 405     ├── UnsupportedMediaTypeError 415
├── NotAcceptableError 406        ├── InvalidError 422
├── TooManyRequestsError 429      ├── InternalError 500
└── GatewayTimeoutError 504            └── UnavailableError 503

The server's edge renders any of them as a ``Status``; the client's edge turns a ``Status`` back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from winkube.api.go.text import quoted
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of ``status.details.causes``."""

    reason: str
    message: str
    field: str = ""

    def to_json(self) -> JsonObject:
        entry = {"reason": self.reason, "message": self.message}
        return {**entry, "field": self.field} if self.field else entry


class ApiError(WinkubeError):
    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"
    plain: ClassVar[bool] = False  # answered as text, not as a Status

    def __init__(self, message: str, *, details: JsonObject | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: JsonObject = details or {}
        self._shows_details = details is not None
        self.warnings: Sequence[str] = ()  # what was said about the request before it failed

    def to_status(self) -> JsonObject:
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            **({"reason": self.reason} if self.reason else {}),
        }
        if self.details or self._shows_details:
            status["details"] = self.details
        status["code"] = self.code
        return status


class BadRequestError(ApiError):
    code, reason = 400, "BadRequest"


class UndecodableError(BadRequestError):
    """A body that does not become an object of ``kind``; ``fault`` is the decoder's own word."""

    def __init__(self, kind: str, version: str, fault: str, *, asked: str = "") -> None:
        what = f'{kind} in version "{version}" cannot be handled as a {asked or kind}'
        super().__init__(f"{what}: {fault}")
        self.fault = fault


class UnauthorizedError(ApiError):
    code, reason = 401, "Unauthorized"

    def __init__(self, message: str = "Unauthorized", *, details: JsonObject | None = None) -> None:
        super().__init__(message, details=details)


class ForbiddenError(ApiError):
    code, reason = 403, "Forbidden"


class NotFoundError(ApiError):
    code, reason = 404, "NotFound"

    @classmethod
    def of(cls, plural: str, name: str, *, group: str = "") -> "NotFoundError":
        return cls(
            f"{_qualified(plural, group)} {quoted(name)} not found",
            details=_ref(plural, name, group),
        )


class NoRouteError(NotFoundError):
    """Nothing is served at this path; unlike an object that is not there, it has no name."""

    def __init__(self) -> None:
        super().__init__("the server could not find the requested resource", details={})


class NoPageError(NotFoundError):
    """Outside of everything that speaks in objects."""

    plain = True

    def __init__(self) -> None:
        super().__init__("404 page not found")


class MethodNotAllowedError(ApiError):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptableError(ApiError):
    code, reason = 406, "NotAcceptable"


class AlreadyExistsError(ApiError):
    code, reason = 409, "AlreadyExists"

    @classmethod
    def of(cls, plural: str, name: str, *, group: str = "") -> "AlreadyExistsError":
        return cls(
            f"{_qualified(plural, group)} {quoted(name)} already exists",
            details=_ref(plural, name, group),
        )


class ConflictError(ApiError):
    code, reason = 409, "Conflict"

    @classmethod
    def of(cls, plural: str, name: str, cause: str, *, group: str = "") -> "ConflictError":
        target = f"{_qualified(plural, group)} {quoted(name)}"
        return cls(
            f"Operation cannot be fulfilled on {target}: {cause}",
            details=_ref(plural, name, group),
        )


class ExpiredError(ApiError):
    code, reason = 410, "Expired"


class RequestTooLargeError(ApiError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaTypeError(ApiError):
    code, reason = 415, "UnsupportedMediaType"


class InvalidError(ApiError):
    code, reason = 422, "Invalid"

    @classmethod
    def of(
        cls, kind: str, name: str, causes: Sequence[Cause], *, group: str = ""
    ) -> "InvalidError":
        """Upstream's sentence: one problem inline, several in brackets, each once."""
        texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
        summary = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        details = {**_ref(kind, name, group), "causes": [cause.to_json() for cause in causes]}
        return cls(
            f"{_qualified(kind, group)} {quoted(name)} is invalid: {summary}", details=details
        )


class TooManyRequestsError(ApiError):
    code, reason = 429, "TooManyRequests"


class InternalError(ApiError):
    code, reason = 500, "InternalError"


class UnexplainedError(ApiError):
    """What upstream's server answers when a part of it fails with a sentence and nothing more."""

    code, reason = 500, ""


class NobodyError(ApiError):
    """Parts of an identity to act as, and nobody to have them."""

    plain = True

    def __init__(self, path: str, parts: str) -> None:
        text = f'"{path}": requested [{parts}] without impersonating a user'
        super().__init__(f"Internal Server Error: {text}")


class UnavailableError(ApiError):
    code, reason = 503, "ServiceUnavailable"


class GatewayTimeoutError(ApiError):
    code, reason = 504, "Timeout"


def from_status(status: JsonObject) -> ApiError:
    """The error a server's ``Status`` stands for; an unknown reason falls back on its code."""
    reason, code = status.get("reason", ""), int(status.get("code") or 500)
    # Other modules derive errors with the same reason: those of this one come first and win.
    by_reason = {cls.reason: cls for cls in reversed(ApiError.__subclasses__())}
    by_code = {cls.code: cls for cls in reversed(ApiError.__subclasses__())}
    found = (by_reason.get(reason) if reason else None) or by_code.get(code, InternalError)
    return found(
        status.get("message") or f"the server answered {code}", details=status.get("details")
    )


def _qualified(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name


def _ref(kind: str, name: str, group: str) -> JsonObject:
    named = (("name", name), ("group", group), ("kind", kind))
    return {key: value for key, value in named if value}
