"""What a write's query says: dry run, field validation, field manager; and who writes."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from winkube.api.errors import InvalidError
from winkube.api.validation.problems import Problems
from winkube.apiserver.auth.user import User

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
    resets_managers: bool = False  # nobody shall own anything any longer
    spec_text: bytes = b""  # the object's spec as JSON, where accepting it has made one
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
        _check_manager(manager, problems)
        dry_run = query.get("dryRun")
        if dry_run not in (None, "All"):
            problems.unsupported("dryRun", [dry_run], ["All"])
        validation = query.get("fieldValidation", "")
        if validation not in _LEVELS:
            problems.unsupported_text("fieldValidation", validation, _LEVELS)
        if problems:
            name = f"{operation}Options"
            raise InvalidError.of(name, "", problems.causes, group="meta.k8s.io")
        return cls(
            user=user,
            dry_run=dry_run == "All",
            field_validation=validation or "Warn",
            field_manager=manager,
            force=parse_bool(query.get("force", "")),
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


def _check_manager(manager: str, problems: Problems) -> None:
    if len(manager.encode()) > _MAX_MANAGER:
        problems.too_long("fieldManager", _MAX_MANAGER)
    for index, char in enumerate(manager):
        if not char.isprintable():
            problems.invalid(
                "fieldManager",
                manager,
                f"invalid character U+{ord(char):04X} (at position {index})",
            )


def parse_bool(text: str) -> bool:
    """As Go's strconv.ParseBool, with "set without a value" meaning yes where upstream says so."""
    return text in ("1", "t", "T", "true", "TRUE", "True")
