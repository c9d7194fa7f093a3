"""What a write's query says: dry run, field validation, field manager; and who writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from winkube.api.errors import BadRequestError, Cause, InvalidError
from winkube.apiserver.auth.user import User

_LEVELS: Final = ("Ignore", "Warn", "Strict")


@dataclass(slots=True)
class WriteOptions:
    user: User
    dry_run: bool = False
    field_validation: str = "Warn"
    field_manager: str = ""
    force: bool = False
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, user: User, query: Mapping[str, str], operation: str) -> "WriteOptions":
        dry_run = query.get("dryRun", "")
        if dry_run not in ("", "All"):
            raise _invalid(operation, "dryRun", dry_run, 'supported values: "All"')
        validation = query.get("fieldValidation") or "Warn"
        if validation not in _LEVELS:
            raise _invalid(
                operation,
                "fieldValidation",
                validation,
                'supported values: "Ignore", "Strict", "Warn"',
            )
        manager = query.get("fieldManager", "")
        if len(manager) > 128:
            raise BadRequestError("fieldManager: Invalid value: may not be more than 128 bytes")
        return cls(
            user=user,
            dry_run=dry_run == "All",
            field_validation=validation,
            field_manager=manager,
            force=parse_bool(query.get("force", "")),
        )


def parse_bool(text: str) -> bool:
    """As Go's strconv.ParseBool, with "set without a value" meaning yes where upstream says so."""
    return text in ("1", "t", "T", "true", "TRUE", "True")


def _invalid(operation: str, field_name: str, value: str, detail: str) -> InvalidError:
    cause = Cause("FieldValueNotSupported", f'Unsupported value: "{value}": {detail}', field_name)
    return InvalidError.of(f"{operation}Options", "", [cause], group="meta.k8s.io")
