"""APIServices (k8s.io/kube-aggregator: pkg/apis/apiregistration/validation)."""

import base64
import binascii
from typing import Final

from winkube.api.names import dns_1035_label_problems, dns_subdomain_problems
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_MAX_GROUP: Final = 20000
_MAX_VERSION: Final = 1000
_MAX_PORT: Final = 65535


def validate_api_service(obj: JsonObject, problems: Problems) -> None:
    spec, name = obj.get("spec") or {}, (obj.get("metadata") or {}).get("name") or ""
    group, version = spec.get("group") or "", spec.get("version") or ""
    wanted = f"{version}.{group}"
    if name != wanted:
        problems.invalid(
            "metadata.name", name, f'must be `spec.version+"."+spec.group`: "{wanted}"'
        )
    if not group and version != "v1":
        problems.required(
            "spec.group", "only v1 may have an empty group and it better be legacy kube"
        )
    if group:
        problems.all_invalid("spec.group", group, dns_subdomain_problems(group))
    problems.all_invalid("spec.version", version, dns_1035_label_problems(version))
    rank = spec.get("groupPriorityMinimum") or 0
    if not 0 < rank <= _MAX_GROUP:
        words = f"must be positive and less than {_MAX_GROUP}"
        problems.invalid("spec.groupPriorityMinimum", rank, words)
    rank = spec.get("versionPriority") or 0
    if not 0 < rank <= _MAX_VERSION:
        words = f"must be positive and less than {_MAX_VERSION}"
        problems.invalid("spec.versionPriority", rank, words)
    if spec.get("service") is None:
        _check_local(spec, problems)
    else:
        _check_remote(spec, problems)


def _check_local(spec: JsonObject, problems: Problems) -> None:
    if spec.get("caBundle"):
        size = _size(spec["caBundle"])
        words = "local APIServices may not have a caBundle"
        problems.invalid("spec.caBundle", f"{size} bytes", words)
    if spec.get("insecureSkipTLSVerify"):
        words = "local APIServices may not have insecureSkipTLSVerify"
        problems.invalid("spec.insecureSkipTLSVerify", True, words)


def _size(bundle: str) -> int:
    try:
        return len(base64.b64decode(bundle))
    except binascii.Error:
        return len(bundle)


def _check_remote(spec: JsonObject, problems: Problems) -> None:
    service = spec["service"]
    for field in ("namespace", "name"):
        if not service.get(field):
            problems.required(f"spec.service.{field}")
    port = service.get("port") or 0
    if not 0 < port <= _MAX_PORT:
        words = f"port is not valid: must be between 1 and {_MAX_PORT}, inclusive"
        problems.invalid("spec.service.port", port, words)
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        problems.invalid(
            "spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present"
        )
