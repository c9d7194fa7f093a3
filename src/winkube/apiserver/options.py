"""What a write's query says: dry run, field validation, field manager; and who writes."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from winkube.api.errors import BadRequestError, InvalidError
from winkube.api.go import number
from winkube.api.roundtrip import Emptied
from winkube.api.validation.metadata import check_manager
from winkube.api.validation.problems import Problems
from winkube.apiserver.auth.user import User
from winkube.apiserver.target import Query

_LEVELS: Final = ("", "Ignore", "Strict", "Warn")
_MAX_MANAGER: Final = 128


@dataclass(slots=True)
class WriteOptions:
    user: User
    dry_run: bool = False
    field_validation: str = "Warn"
    field_manager: str = ""
    force: bool = False
    applies: bool = False  # a server-side apply keeps managedFields itself
    spec_text: bytes = b""  # the object's spec as JSON, where accepting it has made one
    gives_empty: bool = False  # and that alone is a change
    emptied: list[Emptied] = field(default_factory=list)  # what of it was given empty
    weight: int = 0  # bytes that the write is about: what is sent and what is there
    agent: str = ""  # the client's name for itself, when it names no manager
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def parse(
        cls, user: User, query: Mapping[str, str], operation: str, *, apply: bool = False
    ) -> "WriteOptions":
        if not query and not apply:
            return cls(user=user)
        problems = Problems()
        if operation == "Patch" and not apply and "force" in query:
            problems.forbidden("force", "may not be specified for non-apply patch")
        manager = query.get("fieldManager", "")
        if apply and not manager:
            problems.required("fieldManager", "is required for apply patch")
        check_manager(manager, "fieldManager", problems)
        dry_run = every(query, "dryRun") if "dryRun" in query else []
        if any(entry != "All" for entry in dry_run):
            problems.unsupported("dryRun", dry_run, ["All"])
        validation = query.get("fieldValidation", "")
        if validation not in _LEVELS:
            problems.unsupported_text("fieldValidation", validation, _LEVELS)
        if problems:
            name = f"{operation}Options"
            raise InvalidError.of(name, "", problems.causes, group="meta.k8s.io")
        return cls(
            user=user,
            dry_run=bool(dry_run),
            field_validation=validation or "Warn",
            field_manager=manager,
            force="force" in query and parse_flag(query["force"]),
            applies=apply,
        )

    @property
    def said(self) -> dict[str, str]:
        """As the options of the request show it to webhooks."""
        found = {"fieldManager": self.field_manager}
        if self.field_validation != "Warn":
            found["fieldValidation"] = self.field_validation
        return {key: value for key, value in found.items() if value}

    @property
    def manager(self) -> str:
        """Who owns what is written: the name given, or the first word of the client's agent."""
        if self.field_manager:
            return self.field_manager
        return _named_by(self.agent)


@functools.lru_cache(maxsize=256)
def _named_by(agent: str) -> str:
    name = agent.partition("/")[0].encode()[:_MAX_MANAGER].decode(errors="ignore")
    return "".join(filter(str.isprintable, name)) or "unknown"


def parse_flag(text: str) -> bool:
    """Whatever is not plainly no is yes, also nothing at all."""
    return text != "0" and text.lower() != "false"


def every(query: Mapping[str, str], name: str) -> list[str]:
    """All values of a parameter that may be repeated."""
    if isinstance(query, Query):
        return [value for key, value in query.pairs if key == name]
    return [query[name]] if name in query else []


def parse_int(text: str) -> int:
    """A number of the query."""
    try:
        return number.parse_int(text)
    except number.NumberError as error:
        raise BadRequestError(f"strconv.ParseInt: {error}") from error
