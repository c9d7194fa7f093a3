"""List: selectors, resourceVersion rules, and pages that all show one moment.

A page after the first is served from the revision the first was; when the cache no longer reaches
back that far the answer is 410 with a token to go on without that promise, as upstream does.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from winkube.api.errors import (
    BadRequestError,
    ExpiredError,
    GatewayTimeoutError,
    InvalidError,
    UnexplainedError,
)
from winkube.api.selectors import (
    FieldSelector,
    LabelSelector,
    parse_field_selector,
    parse_label_selector,
)
from winkube.api.validation.problems import Problems
from winkube.apiserver.conversion import item_as_served
from winkube.apiserver.item import Item
from winkube.apiserver.served import Served

_MAX_COUNT: Final = (1 << 31) - 1
_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which items of a resource a request is about."""

    labels: LabelSelector
    fields: FieldSelector

    @classmethod
    def parse(cls, served: Served, query: Mapping[str, str], name: str = "") -> "Selection":
        fields = parse_field_selector(query.get("fieldSelector", ""), served.kind)
        if name:
            by_name = parse_field_selector(f"metadata.name={name}", served.kind)
            fields = FieldSelector((*fields.terms, *by_name.terms))
        return cls(parse_label_selector(query.get("labelSelector", "")), fields)

    @property
    def everything(self) -> bool:
        return self.labels.empty and self.fields.empty

    def matches(self, item: Item) -> bool:
        if not self.labels.empty and not self.labels.matches(item.labels):
            return False
        return self.fields.empty or self.fields.matches(item.view)


@dataclass(frozen=True, slots=True)
class ListParams:
    namespace: str = ""
    limit: int = 0
    token: str = ""
    version: str = ""
    match: str = ""
    initial: bool = False

    @classmethod
    def parse(cls, namespace: str, query: Mapping[str, str]) -> "ListParams":
        parse_count(query.get("timeoutSeconds", ""))  # which has to be a number all the same
        return cls(
            namespace,
            parse_count(query.get("limit", "")),
            query.get("continue", ""),
            query.get("resourceVersion", ""),
            query.get("resourceVersionMatch", ""),
            "sendInitialEvents" in query,
        )


@dataclass(frozen=True, slots=True)
class ListResult:
    items: list[Item]
    revision: int
    token: str = ""
    remaining: int | None = None


def parse_count(text: str) -> int:
    if not text:
        return 0
    try:
        return min(max(0, int(text)), _MAX_COUNT)
    except ValueError:
        raise BadRequestError(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def parse_version(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise UnexplainedError(
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": '
            "invalid syntax"
        )
    return int(text)


def _listed_version(text: str) -> int:
    try:
        return parse_version(text)
    except UnexplainedError as error:
        raise BadRequestError(f"invalid resource version: {error.message}") from error


def find_items(served: Served, current: int, params: ListParams) -> tuple[list[Item], int]:
    """What a list is made of, and the version it is of; ``to_page`` makes it."""
    folder = served.folder(params.namespace)
    _check_match(params)
    if params.token:
        _open_token(params.token)
        if params.version not in ("", "0"):
            raise BadRequestError("specifying resource version is not allowed when using continue")
        return _rest(served, folder, current, params.token)
    wanted = _listed_version(params.version) if params.version else 0
    if wanted > current:
        raise too_large(wanted, current, waits=params.match != "Exact")
    # A page of a version is of that version, unless it is said to be of any that is newer.
    exact = wanted > 0 and (params.match or (params.limit and "Exact")) == "Exact"
    revision = wanted if exact else current
    items = served.cache.items_at(folder, revision) if exact else served.cache.items(folder)
    return items, revision


def _check_match(params: ListParams) -> None:
    problems, path = Problems(), "resourceVersionMatch"
    if params.match and not params.version:
        text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        problems.forbidden(path, text)
    if params.match and params.token:
        text = "resourceVersionMatch is forbidden when continue is provided"
        problems.forbidden(path, text)
    if params.match not in _MATCHES:
        problems.unsupported(path, params.match, _MATCHES)
    if params.match == "Exact" and params.version == "0":
        text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        problems.forbidden(path, text)
    if params.initial:
        problems.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    if problems:
        raise InvalidError.of("ListOptions", "", problems.causes, group="meta.k8s.io")


_MATCHES: Final = ("Exact", "NotOlderThan", "")


def _rest(served: Served, folder: str, current: int, token: str) -> tuple[list[Item], int]:
    revision, start = _open_token(token)
    start_key = folder + start
    if revision < 0:  # the token of an inconsistent continuation
        revision = current
    try:
        items = served.cache.items_at(folder, revision)
    except ExpiredError as error:
        expired = ExpiredError(_TOO_OLD)
        expired.details = {"continue": _token(-1, start)}
        raise expired from error
    return [item for item in items if item.key >= start_key], revision


def to_page(
    served: Served, items: list[Item], revision: int, params: ListParams, selection: Selection
) -> ListResult:
    if served.converts:
        items = [item_as_served(served, item) for item in items]
    if not selection.everything:
        matches = selection.matches
        items = [item for item in items if matches(item)]
    # Of no certain version is whatever is at hand, which is everything.
    everything = params.version == "0" and not params.token
    if not params.limit or everything or len(items) <= params.limit:
        return ListResult(items, revision)
    page = items[: params.limit]
    folder = served.folder(params.namespace)
    token = _token(revision, page[-1].key[len(folder) :] + "\0")
    remaining = len(items) - params.limit if selection.everything else None
    return ListResult(page, revision, token, remaining)


def _token(revision: int, start: str) -> str:
    data = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": start})
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _open_token(text: str) -> tuple[int, str]:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        token = orjson.loads(data)
        return int(token["rv"]), str(token["start"])
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise BadRequestError(
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"
        ) from error


def too_large(wanted: int, current: int, *, waits: bool = True) -> GatewayTimeoutError:
    """``waits`` for what a cache answers, which may be there soon."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return GatewayTimeoutError(
        f"Timeout: Too large resource version: {wanted}, current: {current}",
        details={"causes": [cause], **({"retryAfterSeconds": 1} if waits else {})},
    )
