"""List: selectors, resourceVersion rules, and pages that all show one moment.

A page after the first is served from the revision the first was; when the cache no longer reaches
back that far the answer is 410 with a token to go on without that promise, as upstream does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from winkube.api.errors import (
    BadRequestError,
    ExpiredError,
    GatewayTimeoutError,
    InvalidError,
    UnexplainedError,
)
from winkube.api.selector.fields import (
    FieldSelector,
    FieldText,
    read_terms,
    resolve,
)
from winkube.api.selector.labels import LabelSelector, parse_label_selector
from winkube.api.validation.problems import Problems
from winkube.apiserver.continuation import make_token, open_token
from winkube.apiserver.form.conversion import item_as_served
from winkube.apiserver.item import Item
from winkube.apiserver.options import parse_int
from winkube.apiserver.registry.version import ASKED_FOR, parse_version
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

    @property
    def everything(self) -> bool:
        return self.labels.empty and self.fields.empty

    def matches(self, item: Item) -> bool:
        if not self.labels.empty and not self.labels.matches(item.labels):
            return False
        return self.fields.empty or self.fields.matches(item.view)


@dataclass(frozen=True, slots=True)
class SelectionText:
    """What a request selects, before its other options were looked at."""

    labels: LabelSelector
    terms: tuple[FieldText, ...]

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> "SelectionText":
        for name in ("timeoutSeconds", "limit"):  # numbers are read first
            parse_count(query.get(name))
        labels = parse_label_selector(query.get("labelSelector", ""))
        return cls(labels, read_terms(query.get("fieldSelector", "")))

    def of(self, served: Served, name: str = "") -> Selection:
        """Of the objects of a kind, or of one; fields the kind does not offer are refused."""
        fields = resolve(self.terms, served.kind)
        if name and fields.empty:
            fields = resolve((FieldText("metadata.name", name, negated=False),), served.kind)
        elif name and fields.exact("metadata.name") != name:
            raise BadRequestError("fieldSelector metadata.name doesn't match requested name")
        return Selection(self.labels, fields)


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
        params = cls(
            namespace,
            parse_count(query.get("limit")),
            query.get("continue", ""),
            query.get("resourceVersion", ""),
            query.get("resourceVersionMatch", ""),
            "sendInitialEvents" in query,
        )
        _check_match(params)
        return params


@dataclass(frozen=True, slots=True)
class ListResult:
    items: list[Item]
    revision: int
    token: str = ""
    remaining: int | None = None


def parse_count(text: str | None) -> int:
    return 0 if text is None else min(max(0, parse_int(text)), _MAX_COUNT)


def read_list(
    served: Served, namespace: str, query: Mapping[str, str]
) -> tuple[ListParams, Selection]:
    """In upstream's order, so that the first of several faults is the one that is told."""
    text = SelectionText.parse(query)
    params = ListParams.parse(namespace, query)
    return params, text.of(served)


def _listed_version(text: str) -> int:
    try:
        return parse_version(text, ASKED_FOR)
    except UnexplainedError as error:
        raise BadRequestError(f"invalid resource version: {error.message}") from error


def find_items(served: Served, current: int, params: ListParams) -> tuple[list[Item], int]:
    """What a list is made of, and the version it is of; ``to_page`` makes it."""
    folder = served.folder(params.namespace)
    if params.token:
        open_token(params.token)
        if params.version not in ("", "0"):
            raise BadRequestError("specifying resource version is not allowed when using continue")
        return _rest(served, folder, current, params.token)
    wanted = _listed_version(params.version) if params.version else 0
    if wanted > current:
        raise too_large(wanted, current)
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
    revision, start = open_token(token)
    start_key = folder + start
    if revision < 0:  # the token of an inconsistent continuation
        revision = current
    try:
        items = served.cache.items_at(folder, revision)
    except ExpiredError as error:
        expired = ExpiredError(_TOO_OLD)
        expired.details = {"continue": make_token(-1, start)}
        raise expired from error
    return [item for item in items if item.key >= start_key], revision


def to_page(
    served: Served, items: list[Item], revision: int, params: ListParams, selection: Selection
) -> ListResult:
    if served.converts:
        items = [item_as_served(served, item) for item in items]
    matches = selection.matches
    chosen = items if selection.everything else [item for item in items if matches(item)]
    # Of no certain version is whatever is at hand, which is everything.
    everything = params.version == "0" and not params.token
    if not params.limit or everything or len(chosen) < params.limit:
        return ListResult(chosen, revision)
    page = chosen[: params.limit]
    # Whether what is left matches is looked at when somebody asks for it.
    if page[-1] is items[-1] or _is_of_one(served, params, selection):
        return ListResult(page, revision)
    folder = served.folder(params.namespace)
    token = make_token(revision, page[-1].key[len(folder) :] + "\0")
    remaining = len(items) - params.limit if selection.everything else None
    return ListResult(page, revision, token, remaining)


def _is_of_one(served: Served, params: ListParams, selection: Selection) -> bool:
    """Whether the selection names a single object, which no others are read for."""
    placed = params.namespace or not served.kind.namespaced
    return bool(placed) and selection.fields.exact("metadata.name") is not None


def too_large(wanted: int, current: int) -> GatewayTimeoutError:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return GatewayTimeoutError(
        f"Timeout: Too large resource version: {wanted}, current: {current}",
        details={"causes": [cause], "retryAfterSeconds": 1},
    )
