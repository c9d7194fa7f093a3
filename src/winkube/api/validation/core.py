"""The core kinds that are neither pods, services nor storage."""

import base64
import binascii
from typing import Any, Final

import orjson

from winkube.api import names
from winkube.api.meta import annotations_of, namespace_of
from winkube.api.validation.common import check_cidr, check_immutable
from winkube.api.validation.pod import check_template
from winkube.api.validation.problems import Problems
from winkube.api.validation.resources import check_quantity
from winkube.api.validation.scheduling import check_taints
from winkube.base.types import JsonObject

_DATA_BYTES: Final = 1024 * 1024
_FROZEN: Final = "field is immutable when `immutable` is set"
_REDACTED: Final = "<secret contents redacted>"
_SECRET_KEYS: Final = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def validate_config_map(obj: JsonObject, problems: Problems) -> None:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    total = 0
    for key, value in data.items():
        problems.all_invalid(f"data[{key}]", key, names.config_key_problems(key))
        if key in binary:
            problems.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        total += len(value.encode())
    for key, value in binary.items():
        problems.all_invalid(f"binaryData[{key}]", key, names.config_key_problems(key))
        total += _decoded_length(value)
    if total > _DATA_BYTES:
        problems.too_long("[]", _DATA_BYTES)


def validate_config_map_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    _check_frozen(new, old, ("data", "binaryData"), problems)


def _check_frozen(
    new: JsonObject, old: JsonObject, fields: tuple[str, ...], problems: Problems
) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        problems.forbidden("immutable", _FROZEN)
    for field in fields:
        if (new.get(field) or {}) != (old.get(field) or {}):
            problems.forbidden(field, _FROZEN)


def _decoded_length(text: str) -> int:
    return len(text) * 3 // 4 - text[-2:].count("=")


def validate_secret(obj: JsonObject, problems: Problems) -> None:
    data, kind = obj.get("data") or {}, obj.get("type") or ""
    for key in data:
        problems.all_invalid(f"data[{key}]", key, names.config_key_problems(key))
    if sum(_decoded_length(value) for value in data.values()) > _DATA_BYTES:
        problems.too_long("data", _DATA_BYTES)
    if kind == "kubernetes.io/service-account-token":
        key = "kubernetes.io/service-account.name"
        if not annotations_of(obj).get(key):
            problems.required(f"metadata.annotations[{key}]")
    elif kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        problems.required("data[username]")
        problems.required("data[password]")
    for key in _SECRET_KEYS.get(kind, ()):
        if key not in data:
            problems.required(f"data[{key}]")
        elif "dockerc" in kind and not _is_json_object(data[key]):
            problems.invalid(f"data[{key}]", _REDACTED, "invalid character in JSON")


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(orjson.loads(base64.b64decode(text)), dict)
    except (orjson.JSONDecodeError, binascii.Error):
        return False


def validate_secret_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    check_immutable(new.get("type"), old.get("type"), "type", problems)
    _check_frozen(new, old, ("data",), problems)


def validate_node(obj: JsonObject, problems: Problems) -> None:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    # Upstream reports taints below metadata, and so do we.
    check_taints(spec.get("taints"), "metadata.taints", problems)
    for field in ("capacity", "allocatable"):
        for name, quantity in (status.get(field) or {}).items():
            check_quantity(name, quantity, f"status.{field}.{name}", problems)
    cidrs = spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])
    for index, cidr in enumerate(cidrs):
        check_cidr(cidr, f"spec.podCIDRs[{index}]", problems)
    if len({":" in cidr for cidr in cidrs}) != len(cidrs):
        text = "may specify no more than one CIDR for each IP family"
        problems.invalid("spec.podCIDRs", cidrs, text)


def validate_node_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    seen: list[Any] = []
    for index, address in enumerate((new.get("status") or {}).get("addresses") or ()):
        if address in seen:
            problems.duplicate(f"status.addresses[{index}]", address)
        seen.append(address)
    for field, shown, word in (
        ("podCIDR", "podCIDRs", "podCIDR"),
        ("podCIDRs", "podCIDRs", "podCIDR"),
        ("providerID", "providerID", "providerID"),
    ):
        if before.get(field) and after.get(field) != before[field]:
            problems.forbidden(
                f"spec.{shown}", f'node updates may not change {word} except from "" to valid'
            )
            break


def validate_event(obj: JsonObject, problems: Problems) -> None:
    """An event lives in the namespace of what it is about; cluster objects use ``default``."""
    target = obj.get("involvedObject") or obj.get("regarding") or {}
    about, own = target.get("namespace") or "", namespace_of(obj)
    path = "involvedObject.namespace"
    if (about and about != own) or (not about and own not in ("default", "kube-system")):
        problems.invalid(path, about, "does not match event.namespace")


def validate_pod_template(obj: JsonObject, problems: Problems) -> None:
    check_template(obj.get("template") or {}, "template", problems)


def validate_binding(obj: JsonObject, problems: Problems) -> None:
    target = obj.get("target") or {}
    if target.get("kind") not in (None, "", "Node"):
        problems.unsupported("target.kind", target["kind"], ("Node", "<empty>"))
    if not target.get("name"):
        problems.required("target.name")
