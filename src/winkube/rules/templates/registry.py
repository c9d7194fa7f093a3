"""The templates by name."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from winkube.base.types import JsonObject
from winkube.rules.context import Context
from winkube.rules.model import Hit
from winkube.rules.templates import (
    fields,
    host_process,
    identity,
    keys,
    nodes,
    numbers,
    placing,
    programs,
    versions,
)


class Template(NamedTuple):
    parse: Callable[[Mapping[str, Any]], Any]
    find: Callable[[JsonObject, Any, Context], Iterator[Hit]]
    by_target: bool = False  # the answer differs from target to target


TEMPLATES: Final[Mapping[str, Template]] = {
    "forbid-field": Template(fields.parse_fields, fields.forbid_field),
    "require-field": Template(fields.parse_required, fields.require_field),
    "too-many": Template(fields.parse_count, fields.too_many),
    "placement": Template(placing.parse_verdict, placing.placement),
    "host-process": Template(host_process.parse_check, host_process.host_process),
    "image-build": Template(versions.parse_nothing, versions.image_build, by_target=True),
    "api-version": Template(versions.parse_nothing, versions.api_version, by_target=True),
    "windows-supported": Template(
        versions.parse_nothing, versions.windows_supported, by_target=True
    ),
    "node-supported": Template(versions.parse_nothing, nodes.node_supported),
    "target-supported": Template(versions.parse_nothing, nodes.target_supported, by_target=True),
    "kubelet-version": Template(nodes.parse_kubelets, nodes.kubelet_version),
    "always": Template(versions.parse_nothing, nodes.always),
    "forbid-key": Template(keys.parse_keys, keys.forbid_key),
    "too-often": Template(numbers.parse_often, numbers.too_often),
    "unequal": Template(numbers.parse_pair, numbers.unequal),
    "non-root-administrator": Template(identity.parse_user, identity.administrator),
    "program-flags": Template(programs.parse_program, programs.flags_of_pod, by_target=True),
    "kubeadm-flags": Template(programs.parse_program, programs.flags_of_kubeadm, by_target=True),
    "require-program-flag": Template(programs.parse_needed_flag, programs.needed_flag),
    "feature-gates": Template(versions.parse_nothing, programs.feature_gates, by_target=True),
    "flannel-vxlan": Template(versions.parse_nothing, programs.flannel_vxlan),
    "no-check": Template(versions.parse_nothing, fields.nothing),
}
