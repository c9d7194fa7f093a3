"""IngressClasses, IPAddresses and ServiceCIDRs (upstream: pkg/apis/networking/validation)."""

import ipaddress
import re
from typing import Any, Final

from winkube.api import names
from winkube.api.addresses import strict_network_problems
from winkube.api.validation.common import IMMUTABLE, check_immutable, check_immutable_text
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_MAX_CONTROLLER: Final = 250
_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_PATH_TEXT: Final = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
_SCOPES: Final = ("Cluster", "Namespace")


def validate_ingress_class(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    controller = spec.get("controller") or ""
    if len(controller) > _MAX_CONTROLLER:
        problems.too_long("spec.controller", _MAX_CONTROLLER)
    check_prefixed_path(controller, "spec.controller", problems)
    if spec.get("parameters") is not None:
        _check_parameters(spec["parameters"], "spec.parameters", problems)


def check_prefixed_path(value: str, path: str, problems: Problems) -> None:
    if not value:
        problems.required(path)
        return
    host, _, rest = value.partition("/")
    if not host or not rest:
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        problems.invalid(path, value, text)
        return
    problems.all_invalid(path, host, names.dns_subdomain_problems(host))
    if not _PATH.fullmatch(rest):
        problems.invalid(path, rest, _PATH_TEXT)


def _check_parameters(parameters: JsonObject, path: str, problems: Problems) -> None:
    check_typed_reference(parameters, path, problems)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        problems.required(f"{path}.scope")
    elif scope not in _SCOPES:
        problems.unsupported_text(f"{path}.scope", scope, _SCOPES)
    elif scope == "Cluster":
        if namespace is not None:
            problems.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif namespace is None:
        problems.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    else:
        details = names.dns_label_problems(namespace)
        problems.all_invalid(f"{path}.namespace", namespace, details)


def check_typed_reference(reference: JsonObject, path: str, problems: Problems) -> None:
    group = reference.get("apiGroup")
    if group is not None:
        problems.all_invalid(f"{path}.apiGroup", group, names.dns_subdomain_problems(group))
    for field in ("kind", "name"):
        _check_segment(reference.get(field), f"{path}.{field}", problems)


def _check_segment(value: Any, path: str, problems: Problems) -> None:
    if not value:
        problems.required(path)
    else:
        problems.all_invalid(path, value, names.path_segment_problems(value))


def validate_ingress_class_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = ((obj.get("spec") or {}).get("controller") or "" for obj in (new, old))
    check_immutable_text(after, before, "spec.controller", problems)
    validate_ingress_class(new, problems)


def validate_address(obj: JsonObject, problems: Problems) -> None:
    parent, path = (obj.get("spec") or {}).get("parentRef"), "spec.parentRef"
    if parent is None:
        problems.required(path)
        return
    group, namespace = parent.get("group"), parent.get("namespace")
    if group:
        problems.all_invalid(f"{path}.group", group, names.dns_subdomain_problems(group))
    _check_segment(parent.get("resource"), f"{path}.resource", problems)
    _check_segment(parent.get("name"), f"{path}.name", problems)
    if namespace:
        details = names.path_segment_problems(namespace)
        problems.all_invalid(f"{path}.namespace", namespace, details)


def validate_address_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = ((obj.get("spec") or {}).get("parentRef") for obj in (new, old))
    check_immutable(after, before, "spec.parentRef", problems)


def validate_range(obj: JsonObject, problems: Problems) -> None:
    spec, path = obj.get("spec") or {}, "spec.cidrs"
    ranges = spec.get("cidrs") or []
    if not ranges:
        problems.required(path, "at least one CIDR required")
        return
    if len(ranges) > 2:
        problems.invalid(path, {"CIDRs": ranges}, "may only hold up to 2 values")
        return
    for index, text in enumerate(ranges):
        problems.all_invalid(f"{path}[{index}]", text, strict_network_problems(text))
    families = [_family(text) for text in ranges]
    if len(ranges) == 2 and families[0] == families[1] != 0:
        text = (
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and "
            "2001:db8::/64"
        )
        problems.invalid(path, ranges, text)


def _family(text: str) -> int:
    try:
        return ipaddress.ip_network(text, strict=False).version
    except ValueError:
        return 0


def validate_range_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = ((obj.get("spec") or {}).get("cidrs") or [] for obj in (new, old))
    path = "spec.cidrs"
    if len(after) == len(before):
        for index, (now, then) in enumerate(zip(after, before, strict=True)):
            if now != then:
                problems.invalid(f"{path}[{index}]", now, IMMUTABLE)
    elif len(before) == 1 and len(after) == 2:
        if after[0] != before[0]:
            problems.invalid(f"{path}[0]", after[0], IMMUTABLE)
        validate_range(new, problems)
    else:
        problems.invalid(path, after, IMMUTABLE)
