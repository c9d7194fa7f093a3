"""What makes a pod the n-th of its set: its name, labels, host name and claims."""

import copy
import re
from collections.abc import Mapping
from typing import Final

from winkube.api.meta import labels_of, name_of, namespace_of
from winkube.base.types import JsonObject
from winkube.controllers.pods import available_in, is_ready, phase_of, pod_from_template

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
REVISION: Final = "controller-revision-hash"
_NUMBERED: Final = re.compile(r"(.*)-([0-9]+)$", re.DOTALL)
_LARGEST: Final = 2**31 - 1


def parent_and_ordinal(pod: JsonObject) -> tuple[str, int]:
    """The set's name and the number in the pod's name; -1 when it has none."""
    match = _NUMBERED.fullmatch(name_of(pod))
    if match is None:
        return "", -1
    number = int(match[2])
    return match[1], number if number <= _LARGEST else -1


def ordinal_of(pod: JsonObject) -> int:
    return parent_and_ordinal(pod)[1]


def is_member(stateful_set: JsonObject, pod: JsonObject) -> bool:
    return parent_and_ordinal(pod)[0] == name_of(stateful_set)


def replicas_of(stateful_set: JsonObject) -> int:
    wanted = stateful_set["spec"].get("replicas")
    return 1 if wanted is None else int(wanted)


def start_of(stateful_set: JsonObject) -> int:
    return int((stateful_set["spec"].get("ordinals") or {}).get("start") or 0)


def ordinals_of(stateful_set: JsonObject) -> range:
    start = start_of(stateful_set)
    return range(start, start + replicas_of(stateful_set))


def claim_templates(stateful_set: JsonObject) -> list[JsonObject]:
    return stateful_set["spec"].get("volumeClaimTemplates") or []


def claim_name(stateful_set: JsonObject, template: JsonObject, ordinal: int) -> str:
    return f"{name_of(template)}-{name_of(stateful_set)}-{ordinal}"


def claims_of(stateful_set: JsonObject, ordinal: int) -> dict[str, JsonObject]:
    """The claims of the n-th pod, by the name of the volume each is for."""
    chosen = (stateful_set["spec"].get("selector") or {}).get("matchLabels") or {}
    found = {}
    for template in claim_templates(stateful_set):
        claim = copy.deepcopy(template)
        claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        claim.pop("status", None)
        metadata = claim.setdefault("metadata", {})
        labels = {**(metadata.get("labels") or {}), **chosen}
        metadata["name"] = claim_name(stateful_set, template, ordinal)
        metadata["namespace"] = namespace_of(stateful_set)
        if labels:
            metadata["labels"] = labels
        found[name_of(template)] = claim
    return found


def identity_matches(stateful_set: JsonObject, pod: JsonObject) -> bool:
    parent, ordinal = parent_and_ordinal(pod)
    return (
        ordinal >= 0
        and parent == name_of(stateful_set)
        and name_of(pod) == f"{parent}-{ordinal}"
        and labels_of(pod).get(POD_NAME) == name_of(pod)
    )


def storage_matches(stateful_set: JsonObject, pod: JsonObject) -> bool:
    mounted = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    ordinal = ordinal_of(pod)
    return ordinal >= 0 and all(
        (mounted.get(name_of(template), {}).get("persistentVolumeClaim") or {}).get("claimName")
        == claim_name(stateful_set, template, ordinal)
        for template in claim_templates(stateful_set)
    )


def with_identity(stateful_set: JsonObject, pod: JsonObject) -> JsonObject:
    """The pod with the labels and volumes its place in the set asks for."""
    fresh = copy.deepcopy(pod)
    ordinal = ordinal_of(pod)
    labels = {**labels_of(fresh), POD_NAME: name_of(pod), POD_INDEX: str(ordinal)}
    fresh["metadata"]["labels"] = labels
    claims = claims_of(stateful_set, ordinal)
    if claims:
        others = [each for each in fresh["spec"].get("volumes") or () if each["name"] not in claims]
        fresh["spec"]["volumes"] = [*_claim_volumes(claims), *others]
    return fresh


def _claim_volumes(claims: Mapping[str, JsonObject]) -> list[JsonObject]:
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": name_of(claim)}}
        for name, claim in claims.items()
    ]


def new_pod(stateful_set: JsonObject, template: JsonObject, revision: str, n: int) -> JsonObject:
    name = name_of(stateful_set)
    pod = pod_from_template(template, stateful_set, f"{name}-")
    pod["metadata"]["name"] = f"{name}-{n}"
    pod = with_identity(stateful_set, pod)
    pod["metadata"]["labels"][REVISION] = revision
    pod["spec"]["hostname"] = f"{name}-{n}"
    service = stateful_set["spec"].get("serviceName")
    if service:
        pod["spec"]["subdomain"] = service
    return pod


def revision_of(pod: JsonObject) -> str:
    return labels_of(pod).get(REVISION, "")


def is_created(pod: JsonObject) -> bool:
    """One we only planned has no status yet."""
    return bool((pod.get("status") or {}).get("phase"))


def is_running_and_ready(pod: JsonObject) -> bool:
    return is_created(pod) and phase_of(pod) == "Running" and is_ready(pod)


def is_available(stateful_set: JsonObject, pod: JsonObject, now: float) -> bool:
    least = int(stateful_set["spec"].get("minReadySeconds") or 0)
    return available_in(pod, least, now) == 0.0
