"""Configurations of admission webhooks: names, rules, and where they are reached."""

from typing import Any, Final
from urllib.parse import urlsplit

from winkube.api import names
from winkube.api.validation.common import check_choice, check_selector
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_FAILURE: Final = ("Fail", "Ignore")
_MATCH: Final = ("Equivalent", "Exact")
_EFFECTS: Final = ("None", "NoneOnDryRun")
_AGAIN: Final = ("IfNeeded", "Never")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_VERSIONS: Final = ("v1", "v1beta1")
_FORM: Final = "; desired format: https://host[/path]"


def validate_webhooks(obj: JsonObject, problems: Problems) -> None:
    seen: set[str] = set()
    for index, hook in enumerate(obj.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", hook.get("name") or ""
        _check_webhook(hook, path, problems)
        versions = hook.get("admissionReviewVersions") or []
        _check_versions(versions, f"{path}.admissionReviewVersions", problems)
        if name and name in seen:
            problems.duplicate(f"{path}.name", name)
        seen.add(name)


def _check_webhook(hook: JsonObject, path: str, problems: Problems) -> None:
    _check_name(hook.get("name") or "", f"{path}.name", problems)
    for index, rule in enumerate(hook.get("rules") or ()):
        check_rule(rule, f"{path}.rules[{index}]", problems)
    check_choice(hook, "failurePolicy", _FAILURE, path, problems)
    check_choice(hook, "matchPolicy", _MATCH, path, problems)
    if hook.get("sideEffects") is None:
        problems.required(f"{path}.sideEffects", f"must specify one of {', '.join(_EFFECTS)}")
    check_choice(hook, "sideEffects", _EFFECTS, path, problems)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        text = "the timeout value must be between 1 and 30 seconds"
        problems.invalid(f"{path}.timeoutSeconds", seconds, text)
    for field in ("namespaceSelector", "objectSelector"):
        check_selector(hook.get(field), f"{path}.{field}", problems)
    check_choice(hook, "reinvocationPolicy", _AGAIN, path, problems)
    _check_client(hook.get("clientConfig") or {}, f"{path}.clientConfig", problems)


def _check_name(name: str, path: str, problems: Problems) -> None:
    if not name:
        problems.required(path)
        return
    details = names.dns_subdomain_problems(name)
    if details:
        problems.invalid(path, name, ",".join(details))
    elif len(name.split(".")) < 3:
        text = "should be a domain with at least three segments separated by dots"
        problems.invalid(path, name, text)


def _check_versions(versions: list[str], path: str, problems: Problems) -> None:
    if not versions:
        problems.required(path, f"must specify one of {', '.join(_VERSIONS)}")
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            problems.invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        seen.add(version)
        details = names.dns_1035_label_problems(version)
        problems.all_invalid(f"{path}[{index}]", version, details)
    if seen.isdisjoint(_VERSIONS):
        problems.invalid(path, versions, f"must include at least one of {', '.join(_VERSIONS)}")


def check_rule(rule: JsonObject, path: str, problems: Problems) -> None:
    operations = rule.get("operations") or []
    _check_star(operations, f"{path}.operations", "operations", problems)
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            problems.unsupported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    _check_star(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups", problems)
    versions = rule.get("apiVersions") or []
    _check_star(versions, f"{path}.apiVersions", "API versions", problems)
    for index, version in enumerate(versions):
        if not version:
            problems.required(f"{path}.apiVersions[{index}]")
    _check_resources(rule.get("resources") or [], f"{path}.resources", problems)
    check_choice(rule, "scope", _SCOPES, path, problems)


def _check_star(items: list[str], path: str, word: str, problems: Problems) -> None:
    if not items:
        problems.required(path)
    elif len(items) > 1 and "*" in items:
        problems.invalid(path, items, f"if '*' is present, must not specify other {word}")


def _check_resources(resources: list[str], path: str, problems: Problems) -> None:
    if not resources:
        problems.required(path)
    all_parts: set[str] = set()  # x/*
    all_resources: set[str] = set()  # */x
    plain = False
    for index, entry in enumerate(resources):
        here = f"{path}[{index}]"
        if not entry:
            problems.required(here)
            continue
        resource, slash, part = entry.partition("/")
        if not slash:
            plain = entry != "*"
            continue
        if resource in all_parts:
            text = f"if '{resource}/*' is present, must not specify {entry}"
            problems.invalid(here, entry, text)
        if part in all_resources:
            text = f"if '*/{part}' is present, must not specify {entry}"
            problems.invalid(here, entry, text)
        all_parts |= {resource} if part == "*" else set()
        all_resources |= {part} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        text = "if '*/*' is present, must not specify other resources"
        problems.invalid(path, resources, text)
    if "*" in resources and plain:
        text = "if '*' is present, must not specify other resources without subresources"
        problems.invalid(path, resources, text)


def _check_client(config: JsonObject, path: str, problems: Problems) -> None:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        problems.required(path, "exactly one of url or service is required")
    elif url is not None:
        _check_url(url, f"{path}.url", problems)
    elif service is not None:
        _check_service(service, f"{path}.service", problems)


def _check_url(url: str, path: str, problems: Problems) -> None:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        problems.required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if parts.scheme != "https":
        text = "'https' is the only allowed URL scheme"
        problems.invalid(path, parts.scheme, text + _FORM)
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        problems.invalid(path, host, f"host must be specified{_FORM}")
    if at:
        problems.invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        problems.invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        problems.invalid(path, parts.query, "query parameters are not permitted in the URL")


def _check_service(service: JsonObject, path: str, problems: Problems) -> None:
    # Upstream calls its check with both names swapped, which nobody sees but here.
    for field, named in (("name", "namespace"), ("namespace", "name")):
        if not service.get(named):
            problems.required(f"{path}.{field}")
    port: Any = service.get("port") or 443
    if not 1 <= port <= 65535:
        text = "port is not valid: must be between 1 and 65535, inclusive"
        problems.invalid(f"{path}.port", port, text)
    _check_path(service.get("path") or "/", f"{path}.path", problems)


def _check_path(url_path: str, path: str, problems: Problems) -> None:
    if url_path == "/":
        return
    if url_path == "//":
        problems.invalid(path, url_path, "segment[0] may not be empty")
        return
    if not url_path.startswith("/"):
        problems.invalid(path, url_path, "must start with a '/'")
    for index, step in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not step:
            problems.invalid(path, url_path, f"segment[{index}] may not be empty")
            continue
        for detail in names.dns_subdomain_problems(step):
            problems.invalid(path, url_path, f"segment[{index}]: {detail}")
