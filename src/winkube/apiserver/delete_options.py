"""What a deletion says: in its body, or without one in its query."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from winkube.api.decode import MalformedError
from winkube.api.errors import InvalidError, UnexplainedError
from winkube.api.fields import check_fields
from winkube.api.go.written import read_written
from winkube.api.kinds import Kind
from winkube.api.schema import Schema
from winkube.api.validation.problems import Problems
from winkube.apiserver.body import decode, read_body
from winkube.apiserver.call import Call
from winkube.apiserver.form.typed import header_fault, unregistered
from winkube.apiserver.options import every, parse_flag, parse_int
from winkube.base.types import JsonObject

_POLICIES: Final = ("Foreground", "Background", "Orphan")
_KIND: Final = Kind("", "v1", "DeleteOptions", "", "", namespaced=False)
_META: Final = "meta.k8s.io/v1"
# What every group version can decode, and is something else.
_OTHERS: Final = frozenset(
    {"Status", "ListOptions", "WatchEvent", "APIGroup", "GetOptions", "CreateOptions",
     "PatchOptions", "UpdateOptions"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    grace: int | None = None
    policy: str | None = None
    orphan: bool | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry: tuple[str, ...] = ()

    @classmethod
    def of_body(cls, body: JsonObject) -> "DeleteOptions":
        preconditions = body.get("preconditions") or {}
        return cls(
            grace=_grace(body.get("gracePeriodSeconds")),
            policy=body.get("propagationPolicy"),
            orphan=body.get("orphanDependents"),
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            dry=tuple(body.get("dryRun") or ()),
        )

    @classmethod
    def of_query(cls, query: Mapping[str, str]) -> "DeleteOptions":
        grace, orphan = query.get("gracePeriodSeconds"), query.get("orphanDependents")
        return cls(
            grace=None if grace is None else _grace(parse_int(grace)),
            policy=query.get("propagationPolicy"),
            orphan=None if orphan is None else parse_flag(orphan),
            uid=query.get("uid") or None,
            resource_version=query.get("resourceVersion") or None,
            dry=tuple(every(query, "dryRun")),
        )

    @property
    def dry_run(self) -> bool:
        return bool(self.dry)

    @property
    def said(self) -> JsonObject:
        """As the options of the request show it to webhooks."""
        named = {"uid": self.uid, "resourceVersion": self.resource_version}
        preconditions = {key: value for key, value in named.items() if value is not None}
        found = {
            "gracePeriodSeconds": self.grace,
            "preconditions": preconditions or None,
            "orphanDependents": self.orphan,
            "propagationPolicy": self.policy,
        }
        return {key: value for key, value in found.items() if value is not None}

    @property
    def says_propagation(self) -> bool:
        return self.policy is not None or self.orphan is not None

    def check(self) -> None:
        problems, path = Problems(), "propagationPolicy"
        if self.policy is not None and self.orphan is not None:
            text = "orphanDependents and deletionPropagation cannot be both set"
            problems.invalid(path, self.policy, text)
        if self.policy is not None and self.policy not in _POLICIES:
            problems.unsupported_text(path, self.policy, (*_POLICIES, "nil"))
        if any(entry != "All" for entry in self.dry):
            problems.unsupported("dryRun", list(self.dry), ["All"])
        if problems:
            raise InvalidError.of("DeleteOptions", "", problems.causes, group="meta.k8s.io")


def _grace(number: int | None) -> int | None:
    # Negative means "at once", with the kubelet still asked (upstream: 1).
    return 1 if number is not None and number < 0 else number


async def read_delete_options(schema: Schema, call: Call) -> DeleteOptions:
    """The body counts; without one the query does."""
    raw = await read_body(call.request)
    if raw:
        options = DeleteOptions.of_body(await _read(schema, raw, call))
    else:
        options = DeleteOptions.of_query(call.query)
    options.check()
    return options


async def _read(schema: Schema, raw: bytes, call: Call) -> JsonObject:
    try:
        document = await decode(raw, call.request.headers.get("Content-Type", ""))
    except MalformedError as error:
        raise UnexplainedError(error.message) from error
    document = {} if document is None else document
    fault = header_fault(document) or _kind_fault(document) or _type_fault(schema, document, raw)
    if fault:
        raise UnexplainedError(fault)
    options: JsonObject = document
    return options


def _kind_fault(document: JsonObject) -> str:
    kind, version = document.get("kind") or "", document.get("apiVersion") or ""
    if kind in ("", "DeleteOptions"):
        return ""
    if kind in _OTHERS:
        number = version.rpartition("/")[2] or "v1"
        return f"converting ({number}.{kind}) to (v1.DeleteOptions): unknown conversion"
    return unregistered(kind, version or _META)


def _type_fault(schema: Schema, document: Any, raw: bytes) -> str:
    report = check_fields(schema, _KIND, document)
    if not report.type_errors:
        return ""
    written = read_written(raw)  # which knows how numbers were spelt
    if isinstance(written, dict):
        report = check_fields(schema, _KIND, written)
    return report.type_errors[report.fatal or 0]
