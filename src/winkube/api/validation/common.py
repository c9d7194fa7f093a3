"""Checks that many kinds share: numbers, ports, addresses, paths, selectors."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from winkube.api import names
from winkube.api.addresses import address_problems, network_problems, parse_address
from winkube.api.go.number import NumberError, parse_int
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PERCENT: Final = re.compile(r"[0-9]+%", re.ASCII)
_PERCENT_TEXT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)
IMMUTABLE: Final = "field is immutable"
MAX_INT32: Final = 2**31 - 1


def in_range(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def check_nonnegative(value: Any, path: str, problems: Problems) -> None:
    if value is not None and value < 0:
        problems.invalid(path, value, "must be greater than or equal to 0")


def check_positive(value: Any, path: str, problems: Problems) -> None:
    if value is None or value <= 0:
        problems.invalid(path, value or 0, "must be greater than 0")


def check_id(value: Any, path: str, problems: Problems) -> None:
    """User and group ids."""
    if value is not None and not 0 <= value <= MAX_INT32:
        problems.invalid(path, value, in_range(0, MAX_INT32))


def check_one_of(value: Any, choices: Sequence[str], path: str, problems: Problems) -> None:
    if not value:
        problems.required(path)
    elif value not in choices:
        problems.unsupported(path, value, choices)


def check_given(value: Any, choices: Sequence[str], path: str, problems: Problems) -> None:
    """Of what upstream points to: empty text is something given, and no good choice."""
    if value is None:
        problems.required(path)
    elif value not in choices:
        problems.unsupported(path, value, choices)


def check_choice(
    obj: JsonObject, field: str, choices: Sequence[str], path: str, problems: Problems
) -> None:
    """Of a field that may be left out; empty text is something given here too."""
    value = obj.get(field)
    if value is not None and value not in choices:
        problems.unsupported(f"{path}.{field}", value, choices)


def check_port(value: Any, path: str, problems: Problems) -> None:
    if not isinstance(value, int) or not 1 <= value <= 65535:
        problems.invalid(path, value or 0, in_range(1, 65535))


def check_port_or_name(value: Any, path: str, problems: Problems) -> None:
    if isinstance(value, str):
        problems.all_invalid(path, value, names.port_name_problems(value))
    else:
        check_port(value, path, problems)


def is_ip(value: Any) -> bool:
    return parse_address(value) is not None


def check_ip(value: Any, path: str, problems: Problems) -> None:
    problems.all_invalid(path, value, address_problems(value))


def check_point_name(name: str, path: str, problems: Problems) -> None:
    """The name under which a balancer is reached."""
    problems.all_invalid(path, name, names.dns_subdomain_problems(name))
    if is_ip(name):
        problems.invalid(path, name, "must be a DNS name, not an IP address")


def check_cidr(value: Any, path: str, problems: Problems) -> None:
    problems.all_invalid(path, value, network_problems(value))


def check_no_backsteps(value: str, path: str, problems: Problems) -> None:
    if ".." in value.split("/"):
        problems.invalid(path, value, "must not contain '..'")


def check_descending(value: str, path: str, problems: Problems) -> None:
    if value.startswith("/"):
        problems.invalid(path, value, "must be a relative path")
    check_no_backsteps(value, path, problems)


def check_file_path(value: str, path: str, problems: Problems) -> None:
    """A path inside a projected volume: '..' names are the kubelet's own."""
    check_descending(value, path, problems)
    if value.startswith("..") and not value.startswith("../"):
        problems.invalid(path, value, "must not start with '..'")


def check_labels(labels: Any, path: str, problems: Problems) -> None:
    for key, value in (labels or {}).items():
        problems.all_invalid(path, key, names.label_key_problems(key))
        problems.all_invalid(path, value, names.label_value_problems(value))


def check_label_key(key: str, path: str, problems: Problems) -> None:
    problems.all_invalid(path, key, names.label_key_problems(key))


def check_selector(selector: JsonObject | None, path: str, problems: Problems) -> None:
    """A metav1.LabelSelector."""
    if not selector:
        return
    check_labels(selector.get("matchLabels"), f"{path}.matchLabels", problems)
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        _check_expression(expression, f"{path}.matchExpressions[{index}]", problems)


def _check_expression(expression: JsonObject, path: str, problems: Problems) -> None:
    operator, values = expression.get("operator") or "", expression.get("values") or ()
    check_set_operator(operator, values, path, problems)
    if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        problems.invalid_enum(f"{path}.operator", operator, "not a valid selector operator")
    check_label_key(expression.get("key") or "", f"{path}.key", problems)
    check_label_values(values, f"{path}.values", problems)


def check_set_operator(operator: str, values: Sequence[Any], path: str, problems: Problems) -> None:
    if operator in ("In", "NotIn") and not values:
        problems.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    if operator in ("Exists", "DoesNotExist") and values:
        problems.forbidden(
            f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        )


def check_label_values(values: Iterable[str], path: str, problems: Problems) -> None:
    for index, value in enumerate(values):
        problems.all_invalid(f"{path}[{index}]", value, names.label_value_problems(value))


def percent_of(value: Any) -> int | None:
    """The number before the sign; None for what is no percentage."""
    if isinstance(value, str) and _PERCENT.fullmatch(value):
        return _number(value[:-1])
    return None


def _number(text: str) -> int:
    try:
        return parse_int(text)
    except NumberError as error:
        return error.nearest


def check_int_or_percent(value: Any, path: str, problems: Problems) -> None:
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            problems.invalid(path, value, _PERCENT_TEXT)
    else:
        check_nonnegative(value, path, problems)


def check_at_most_100_percent(value: Any, path: str, problems: Problems) -> None:
    if (percent_of(value) or 0) > 100:
        problems.invalid(path, value, "must not be greater than 100%")


def is_zero(value: Any) -> bool:
    """Text that is neither a number nor a percentage counts as none."""
    percent = percent_of(value)
    if percent is not None:
        return percent == 0
    if isinstance(value, str):
        return not _number(value)
    return value in (0, None)


def check_immutable(new: Any, old: Any, path: str, problems: Problems) -> None:
    """Of anything but plain text: nearly all such fields are choices, or point to their value."""
    if new != old:
        problems.invalid_enum(path, new, IMMUTABLE)


def check_immutable_text(new: Any, old: Any, path: str, problems: Problems) -> None:
    if new != old:
        problems.invalid(path, new or "", IMMUTABLE)
