"""FlowSchemas and PriorityLevelConfigurations (upstream: pkg/apis/flowcontrol/validation)."""

import math
from typing import Final

from winkube.api import names
from winkube.api.flow_objects import FLOW_SCHEMAS, MANDATORY, PRIORITY_LEVELS
from winkube.api.internal import internal
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_MAX_PRECEDENCE: Final = 10000
_MAX_QUEUES: Final = 10_000_000
_HASH_BITS: Final = 60
_VERBS: Final = (
    "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch",
)  # fmt: skip
# What a subject of a kind has, in the order upstream looks at what it may not have.
_SUBJECTS: Final = {
    "ServiceAccount": ("serviceAccount", ("user", "group")),
    "User": ("user", ("serviceAccount", "group")),
    "Group": ("group", ("serviceAccount", "user")),
}
_KIND_OF: Final = {field: kind for kind, (field, _) in _SUBJECTS.items()}
_PERCENT: Final = "must be between 0 and 100, inclusive"
_NOT_NEGATIVE: Final = "must be a non-negative integer"


def validate_flow_schema(obj: JsonObject, problems: Problems) -> None:
    name, spec = obj["metadata"].get("name"), obj.get("spec") or {}
    _check_precedence(name, spec.get("matchingPrecedence") or 0, problems)
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in ("ByNamespace", "ByUser"):
        shown = {"Type": method.get("type") or ""}
        path = "spec.distinguisherMethod.type"
        problems.unsupported(path, shown, ("ByNamespace", "ByUser"))
    level = (spec.get("priorityLevelConfiguration") or {}).get("name")
    path = "spec.priorityLevelConfiguration.name"
    if level:
        problems.all_invalid(path, level, names.dns_subdomain_problems(level))
    else:
        problems.required(path, "must reference a priority level")
    for index, rule in enumerate(spec.get("rules") or ()):
        _check_rule(rule, f"spec.rules[{index}]", problems)
    if name in MANDATORY and spec != FLOW_SCHEMAS[name]:
        text = f"spec of '{name}' must equal the fixed value"
        problems.invalid("spec", internal("FlowSchemaSpec", spec), text)
    check_flow_status(obj, obj, problems)


def _check_precedence(name: str | None, precedence: int, problems: Problems) -> None:
    path = "spec.matchingPrecedence"
    if precedence <= 0:
        problems.invalid(path, precedence, "must be a positive value")
    if precedence > _MAX_PRECEDENCE:
        problems.invalid(path, precedence, f"must not be greater than {_MAX_PRECEDENCE}")
    if precedence == 1 and name != "exempt":
        text = "only the schema named 'exempt' may have matchingPrecedence 1"
        problems.invalid(path, precedence, text)


def check_flow_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    seen: set[str] = set()
    for index, condition in enumerate((new.get("status") or {}).get("conditions") or ()):
        path, kind = f"status.conditions[{index}].type", condition.get("type") or ""
        if kind in seen:
            problems.duplicate(path, kind)
        seen.add(kind)
        if not kind:
            problems.required(path)


def _check_rule(rule: JsonObject, path: str, problems: Problems) -> None:
    subjects = rule.get("subjects") or ()
    for index, subject in enumerate(subjects):
        _check_subject(subject, f"{path}.subjects[{index}]", problems)
    if not subjects:
        problems.required(f"{path}.subjects", "subjects must contain at least one value")
    inside, outside = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not inside and not outside:
        text = "at least one of resourceRules and nonResourceRules has to be non-empty"
        problems.required(path, text)
    for index, entry in enumerate(inside):
        _check_resources(entry, f"{path}.resourceRules[{index}]", problems)
    for index, entry in enumerate(outside):
        _check_addresses(entry, f"{path}.nonResourceRules[{index}]", problems)


def _check_subject(subject: JsonObject, path: str, problems: Problems) -> None:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        problems.unsupported(f"{path}.kind", kind, sorted(_SUBJECTS))
        return
    wanted, others = _SUBJECTS[kind]
    value = subject.get(wanted)
    if value is None:
        problems.required(f"{path}.{wanted}", f"{wanted} is required when subject kind is '{kind}'")
    elif kind == "ServiceAccount":
        _check_account(value, f"{path}.{wanted}", problems)
    elif not value.get("name"):
        problems.required(f"{path}.{wanted}.name")
    for other in others:
        if subject.get(other) is not None:
            text = f"{other} is forbidden when subject kind is not '{_KIND_OF[other]}'"
            problems.forbidden(f"{path}.{other}", text)


def _check_account(account: JsonObject, path: str, problems: Problems) -> None:
    name, namespace = account.get("name"), account.get("namespace")
    if not name:
        problems.required(f"{path}.name")
    elif name != "*":
        problems.all_invalid(f"{path}.name", name, names.dns_subdomain_problems(name))
    if namespace:
        details = names.dns_label_problems(namespace)
        problems.all_invalid(f"{path}.namespace", namespace, details)
    else:
        problems.required(f"{path}.namespace", "must specify namespace for service account")


def _check_verbs(rule: JsonObject, path: str, problems: Problems) -> None:
    verbs = rule.get("verbs") or []
    if not verbs:
        problems.required(f"{path}.verbs", "verbs must contain at least one value")
    elif "*" in verbs:
        _check_alone(verbs, f"{path}.verbs", "verbs", problems)
    elif not set(verbs) <= set(_VERBS):
        problems.unsupported(f"{path}.verbs", verbs, _VERBS)


def _check_alone(values: list[str], path: str, what: str, problems: Problems) -> None:
    if len(values) > 1 and "*" in values:
        problems.invalid(path, values, f"if '*' is present, must not specify other {what}")


def _check_resources(rule: JsonObject, path: str, problems: Problems) -> None:
    _check_verbs(rule, path, problems)
    for field, one, many in (
        ("apiGroups", "api group", "api groups"),
        ("resources", "resource", "resources"),
    ):
        values = rule.get(field) or []
        if not values:
            text = f"resource rules must supply at least one {one}"
            problems.required(f"{path}.{field}", text)
        _check_alone(values, f"{path}.{field}", many, problems)
    _check_namespaces(rule, f"{path}.namespaces", problems)


def _check_namespaces(rule: JsonObject, path: str, problems: Problems) -> None:
    values = rule.get("namespaces") or []
    if not values and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        problems.required(path, text)
    elif "*" in values:
        _check_alone(values, path, "namespaces", problems)
    else:
        intro = "each member of this list must be '*' or a DNS-1123 label; "
        for index, name in enumerate(values):
            details = [intro + text for text in names.dns_label_problems(name)]
            problems.all_invalid(f"{path}[{index}]", name, details)


def _check_addresses(rule: JsonObject, path: str, problems: Problems) -> None:
    _check_verbs(rule, path, problems)
    here, values = f"{path}.nonResourceURLs", rule.get("nonResourceURLs") or []
    if not values:
        problems.required(here, "nonResourceURLs must contain at least one value")
    elif "*" in values:
        _check_alone(values, here, "non-resource URLs", problems)
    else:
        for index, address in enumerate(values):
            fault = _address_fault(address)
            if fault:
                problems.invalid(f"{here}[{index}]", address, fault)


def _address_fault(address: str) -> str:
    if not address:
        return "must not be empty"
    if address != "/" and not address.startswith("/"):
        return "must start with slash"
    if " " in address:
        return "must not contain white-space"
    if "//" in address:
        return "must not contain double slash"
    stars = address.count("*")
    wrong = stars > 1 or (stars == 1 and not address.endswith("/*"))
    return "wildcard can only do suffix matching" if wrong else ""


def validate_priority_level(obj: JsonObject, problems: Problems) -> None:
    name, spec = obj["metadata"].get("name"), obj.get("spec") or {}
    kind = spec.get("type") or ""
    if (name == "exempt") != (kind == "Exempt"):
        text = "must be 'Exempt' if and only if `name` is 'exempt'"
        problems.invalid("spec.type", kind, text)
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if kind == "Exempt":
        if limited is not None:
            problems.forbidden("spec.limited", "must be nil if the type is not Limited")
        _check_shares(exempt or {}, "spec.exempt", problems)
        _check_lent(exempt or {}, "spec.exempt", problems)
    elif kind == "Limited":
        if exempt is not None:
            problems.forbidden("spec.exempt", "must be nil if the type is Limited")
        _check_limited(limited, "spec.limited", problems)
    else:
        problems.unsupported("spec.type", kind, ("Exempt", "Limited"))
    _check_fixed(name, spec, problems)
    check_flow_status(obj, obj, problems)


def _check_fixed(name: str | None, spec: JsonObject, problems: Problems) -> None:
    if name not in MANDATORY:
        return
    fixed, text = PRIORITY_LEVELS[name], f"spec of '{name}' must equal the fixed value"
    if name == "exempt":
        spec_as_fixed = {**spec, "exempt": fixed["exempt"]}
        text = f"spec of '{name}' except the 'spec.exempt' field must equal the fixed value"
    else:
        spec_as_fixed = spec
    if spec_as_fixed != fixed:
        problems.invalid("spec", internal("PriorityLevelConfigurationSpec", spec), text)


def _check_shares(values: JsonObject, path: str, problems: Problems) -> None:
    shares = values.get("nominalConcurrencyShares")
    if shares is not None and shares < 0:
        problems.invalid(f"{path}.nominalConcurrencyShares", shares, _NOT_NEGATIVE)


def _check_lent(values: JsonObject, path: str, problems: Problems) -> None:
    lent = values.get("lendablePercent")
    if lent is not None and not 0 <= lent <= 100:
        problems.invalid(f"{path}.lendablePercent", lent, _PERCENT)


def _check_limited(limited: JsonObject | None, path: str, problems: Problems) -> None:
    if limited is None:
        problems.required(path, "must not be empty when type is Limited")
        return
    _check_shares(limited, path, problems)
    _check_response(limited.get("limitResponse") or {}, f"{path}.limitResponse", problems)
    _check_lent(limited, path, problems)
    borrowed = limited.get("borrowingLimitPercent")
    if borrowed is not None and borrowed < 0:
        text = f"if specified, {_NOT_NEGATIVE}"
        problems.invalid(f"{path}.borrowingLimitPercent", borrowed, text)


def _check_response(response: JsonObject, path: str, problems: Problems) -> None:
    kind, queuing = response.get("type") or "", response.get("queuing")
    if kind == "Reject":
        if queuing is not None:
            text = "must be nil if limited.limitResponse.type is not Limited"
            problems.forbidden(f"{path}.queuing", text)
    elif kind != "Queue":
        problems.unsupported(f"{path}.type", kind, ("Queue", "Reject"))
    elif queuing is None:
        text = "must not be empty if limited.limitResponse.type is Limited"
        problems.required(f"{path}.queuing", text)
    else:
        _check_queuing(queuing, f"{path}.queuing", problems)


def _check_queuing(queuing: JsonObject, path: str, problems: Problems) -> None:
    length, queues, hand = (
        queuing.get(field) or 0 for field in ("queueLengthLimit", "queues", "handSize")
    )
    if length <= 0:
        problems.invalid(f"{path}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        problems.invalid(f"{path}.queues", queues, "must be positive")
    elif queues > _MAX_QUEUES:
        problems.invalid(f"{path}.queues", queues, f"must not be greater than {_MAX_QUEUES}")
    if hand <= 0:
        problems.invalid(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        text = f"should not be greater than queues ({queues})"
        problems.invalid(f"{path}.handSize", hand, text)
    elif math.ceil(math.log2(queues) * hand) > _HASH_BITS:
        text = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be "
            f"greater than {_HASH_BITS}"
        )
        problems.invalid(f"{path}.handSize", hand, text)
