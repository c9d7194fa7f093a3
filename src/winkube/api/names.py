"""What names, label keys and label values may be, with upstream's sentences.

Every function returns problems as text, none when the value is fine (util/validation upstream).
"""

import functools
import re
from typing import Final

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_RE: Final = re.compile(_LABEL)
_SUBDOMAIN_RE: Final = re.compile(_SUBDOMAIN)
_SEARCH_RE: Final = re.compile(
    r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
)
_QUALIFIED_RE: Final = re.compile(_QUALIFIED)
_LABEL_1035_RE: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_CONFIG_KEY_RE: Final = re.compile(r"[-._a-zA-Z0-9]+")
_PORT_NAME_RE: Final = re.compile(r"[-a-z0-9]+")

_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_SEARCH_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' "
    "or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
    "used for validation is "
    r"'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_TEXT: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_ENV_TEXT: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other "
    "than '='"
)
_CONFIG_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


@functools.lru_cache(maxsize=4096)
def dns_label_problems(value: str) -> tuple[str, ...]:
    problems = [_too_long(63)] if len(value) > 63 else []
    if not _LABEL_RE.fullmatch(value):
        # A label that would do as a subdomain has one wrong character only: upstream says so.
        dots = _SUBDOMAIN_RE.fullmatch(value) is not None
        problems.append("must not contain dots" if dots else _LABEL_TEXT)
    return tuple(problems)


@functools.lru_cache(maxsize=4096)
def dns_subdomain_problems(value: str) -> tuple[str, ...]:
    problems = [_too_long(253)] if len(value) > 253 else []
    if not _SUBDOMAIN_RE.fullmatch(value):
        problems.append(_SUBDOMAIN_TEXT)
    return tuple(problems)


def dns_search_problems(value: str) -> tuple[str, ...]:
    """Search domains may have underscores, also in front of a label."""
    problems = [_too_long(253)] if len(value) > 253 else []
    if not _SEARCH_RE.fullmatch(value):
        problems.append(_SEARCH_TEXT)
    return tuple(problems)


def dns_1035_label_problems(value: str) -> tuple[str, ...]:
    problems = [_too_long(63)] if len(value) > 63 else []
    if not _LABEL_1035_RE.fullmatch(value):
        problems.append(_LABEL_1035_TEXT)
    return tuple(problems)


def path_segment_problems(value: str) -> tuple[str, ...]:
    """Names of RBAC objects: anything that can be one segment of a URL path."""
    if value in (".", ".."):
        return (f"may not be '{value}'",)
    return tuple(f"may not contain '{mark}'" for mark in ("/", "%") if mark in value)


@functools.lru_cache(maxsize=4096)
def label_key_problems(value: str) -> tuple[str, ...]:
    """A qualified name: an optional DNS prefix, a slash, and a name of at most 63 characters."""
    prefix, slash, name = value.rpartition("/")
    problems = []
    if "/" in prefix:
        return (
            "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
            "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') "
            "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in dns_subdomain_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 characters")
    if not _QUALIFIED_RE.fullmatch(name):
        problems.append(_QUALIFIED_TEXT)
    return tuple(problems)


@functools.lru_cache(maxsize=4096)
def label_value_problems(value: str) -> tuple[str, ...]:
    problems = [_too_long(63)] if len(value) > 63 else []
    if value and not _QUALIFIED_RE.fullmatch(value):
        problems.append(_LABEL_VALUE_TEXT)
    return tuple(problems)


def env_name_problems(value: str) -> tuple[str, ...]:
    """Relaxed since v1.34: any printable ASCII but '='."""
    problems = []
    if not value or any(not " " <= mark <= "~" or mark == "=" for mark in value):
        problems.append(_ENV_TEXT)
    return tuple(problems)


def config_key_problems(value: str) -> tuple[str, ...]:
    problems = [_too_long(253)] if len(value) > 253 else []
    if not _CONFIG_KEY_RE.fullmatch(value):
        problems.append(_CONFIG_KEY_TEXT)
    if value == ".":
        problems.append("must not be '.'")
    elif value == "..":
        problems.append("must not be '..'")
    elif value.startswith(".."):
        problems.append("must not start with '..'")
    return tuple(problems)


def port_name_problems(value: str) -> tuple[str, ...]:
    problems = []
    if len(value) > 15:
        problems.append(_too_long(15))
    if not _PORT_NAME_RE.fullmatch(value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return tuple(problems)
