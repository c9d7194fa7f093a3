"""Which nodes a DaemonSet wants, and the pod it makes for one of them."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from winkube.api.meta import annotations_of, labels_of, name_of
from winkube.api.selector.nodes import is_tolerated, matches_node
from winkube.base.types import JsonObject
from winkube.controllers.pods import node_of, pod_from_template

HASH_LABEL: Final = "controller-revision-hash"
GENERATION_LABEL: Final = "pod-template-generation"
GENERATION: Final = "deprecated.daemonset.template.generation"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_TOLERATED_ON_HOST_NETWORK: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a node should get a pod, and whether one that is there may stay."""

    run: bool
    stay: bool


def daemon_tolerations(pod_spec: JsonObject) -> list[JsonObject]:
    """The template's tolerations, and those that keep daemons on nodes in trouble."""
    found = [dict(entry) for entry in pod_spec.get("tolerations") or ()]
    wanted = [*_TOLERATED]
    if pod_spec.get("hostNetwork"):
        wanted.append(_TOLERATED_ON_HOST_NETWORK)
    for key, effect in wanted:
        toleration = {"key": key, "operator": "Exists", "effect": effect}
        for index, entry in enumerate(found):
            # The same toleration for a limited time is made unlimited.
            if {**entry, "tolerationSeconds": None} == {**toleration, "tolerationSeconds": None}:
                found[index] = toleration
                break
        else:
            found.append(toleration)
    return found


def fit(daemon_set: JsonObject, node: JsonObject) -> Fit:
    pod_spec = daemon_set["spec"]["template"].get("spec") or {}
    return fit_pod(pod_spec, daemon_tolerations(pod_spec), node)


def fit_pod(pod_spec: JsonObject, tolerations: Iterable[JsonObject], node: JsonObject) -> Fit:
    if pod_spec.get("nodeName") not in (None, "", name_of(node)):
        return Fit(False, False)
    if not matches_node(pod_spec, node):
        return Fit(False, False)
    taints = (node.get("spec") or {}).get("taints") or ()
    refused = {each.get("effect") for each in taints if not is_tolerated(tolerations, each)}
    return Fit(not refused & {"NoSchedule", "NoExecute"}, "NoExecute" not in refused)


def template_generation(daemon_set: JsonObject) -> str | None:
    """The count of template changes that clients of long ago know revisions by."""
    text = annotations_of(daemon_set).get(GENERATION)
    return text if text is not None and text.removeprefix("-").isdecimal() else None


def is_updated(pod: JsonObject, digest: str, generation: str | None) -> bool:
    labels = labels_of(pod)
    if digest and labels.get(HASH_LABEL) == digest:
        return True
    return generation is not None and labels.get(GENERATION_LABEL) == generation


def daemon_pod(daemon_set: JsonObject, node: str, digest: str) -> JsonObject:
    """The pod for one node: the scheduler binds it there because it may go nowhere else."""
    pod = pod_from_template(daemon_set["spec"]["template"], daemon_set, f"{name_of(daemon_set)}-")
    labels = pod["metadata"].setdefault("labels", {})
    generation = template_generation(daemon_set)
    if generation is not None:
        labels[GENERATION_LABEL] = generation
    labels[HASH_LABEL] = digest
    spec = pod["spec"]
    spec["tolerations"] = daemon_tolerations(spec)
    affinity = copy.deepcopy(spec.get("affinity") or {})
    by_name = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [by_name]}]}
    affinity["nodeAffinity"] = {**(affinity.get("nodeAffinity") or {}), _REQUIRED: required}
    spec["affinity"] = affinity
    return pod


def target_node(pod: JsonObject) -> str | None:
    """Where a pod is, or is meant to be; None when it does not say."""
    if node_of(pod):
        return node_of(pod)
    affinity = ((pod.get("spec") or {}).get("affinity") or {}).get("nodeAffinity") or {}
    for term in (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("operator") == "In":
                values: list[str] = field.get("values") or []
                return values[0] if len(values) == 1 else None
    return None
