"""What creating and updating mean for a kind beyond defaults: initial status, generation, resets.

Upstream's strategies (k8s.io/kubernetes: pkg/registry/*/*/strategy.go) as data and a few functions.
"""

import uuid
from collections.abc import Callable
from typing import Final

from winkube.api.defaulting.core import pair_sources
from winkube.api.kinds import Kind
from winkube.api.qos import qos_class
from winkube.apiserver.aggregation.local import local_condition
from winkube.apiserver.auth.user import SELF, User
from winkube.apiserver.registry.gated import drop_gated
from winkube.apiserver.registry.pods import complete_report, merge_label_keys
from winkube.apiserver.services.change import drop_left_behind
from winkube.base.types import JsonObject

# Kinds whose metadata.generation counts changes of what the user wants.
_GENERATION: Final = frozenset(
    {
        ("", "pods"),
        ("", "podtemplates"),
        ("", "replicationcontrollers"),
        ("apps", "deployments"),
        ("apps", "replicasets"),
        ("apps", "statefulsets"),
        ("apps", "daemonsets"),
        ("batch", "jobs"),
        ("batch", "cronjobs"),
        ("policy", "poddisruptionbudgets"),
        ("discovery.k8s.io", "endpointslices"),
        ("networking.k8s.io", "ingresses"),
        ("networking.k8s.io", "ingressclasses"),
        ("networking.k8s.io", "networkpolicies"),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("flowcontrol.apiserver.k8s.io", "flowschemas"),
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
        ("resource.k8s.io", "deviceclasses"),
        ("resource.k8s.io", "resourceslices"),
    }
)

# Kubelets register a node together with its status.
_STATUS_AT_CREATION: Final = frozenset(
    {("", "nodes"), ("apiextensions.k8s.io", "customresourcedefinitions")}
)
_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
# Fields that are not part of what the user wants.
_NOT_WANTED: Final = frozenset({"metadata", "status", "kind", "apiVersion"})


def counts_generation(kind: Kind) -> bool:
    key = (kind.group, kind.plural)
    return key in _GENERATION or key == ("storage.k8s.io", "csidrivers")  # these begin with none


def prepare_create(kind: Kind, obj: JsonObject, user: User) -> None:
    key = (kind.group, kind.plural)
    drop_gated(kind, obj)
    if key == ("", "persistentvolumeclaims"):
        pair_sources(obj, {})
    metadata = obj["metadata"]
    if key in _GENERATION:
        metadata["generation"] = 1
    if "status" in kind.subresources and key not in _STATUS_AT_CREATION:
        obj.pop("status", None)
    step = _AT_CREATION.get(key)
    if step is not None:
        step(obj, user)


def prepare_update(kind: Kind, new: JsonObject, old: JsonObject) -> None:
    """Keep what a plain update may not touch: status, and the count of generations."""
    # Slices count what is dropped from them as a change.
    touched = kind.plural == "endpointslices" and _wanted(new) != _wanted(old)
    drop_gated(kind, new)
    if "status" in kind.subresources:
        _copy_field(new, old, "status")
    step = _AT_UPDATE.get((kind.group, kind.plural))
    if step is not None:
        step(new, old)
    if not counts_generation(kind):
        return
    generation = old["metadata"].get("generation") or 0
    if touched or _wanted(new) != _wanted(old) or _notes_count(kind, new, old):
        generation += 1
    if generation:
        new["metadata"]["generation"] = generation


def _keep_finalizers(new: JsonObject, old: JsonObject) -> None:
    """Only namespaces/finalize may change these."""
    _copy_field(new.setdefault("spec", {}), old.get("spec") or {}, "finalizers")


def _notes_count(kind: Kind, new: JsonObject, old: JsonObject) -> bool:
    """Whether metadata changed that is part of what is wanted.

    A Deployment's annotations are copied to its ReplicaSets; an EndpointSlice's labels say whose
    it is.
    """
    field = _COUNTED_NOTES.get((kind.group, kind.plural))
    if field is None:
        return False
    before, after = (obj["metadata"].get(field) or {} for obj in (old, new))
    return bool(before != after)


_COUNTED_NOTES: Final = {
    ("apps", "deployments"): "annotations",
    ("discovery.k8s.io", "endpointslices"): "labels",
}


# What whoever writes a part may name and not change: whom he means.
_JUDGED_METADATA: Final = ("uid", "deletionGracePeriodSeconds")
# What is taken from a write of most parts: users own it, but for the last, which is judged too.
_TAKEN_METADATA: Final = frozenset(
    {"labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp"}
)
# What of that a status update of these leaves as it is (their strategies say so).
_STATUS_KEEPS: Final = {
    ("", "pods"): frozenset({"ownerReferences", "deletionTimestamp"}),
    ("apps", "deployments"): frozenset({"labels"}),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): _TAKEN_METADATA,
    ("apiregistration.k8s.io", "apiservices"): _TAKEN_METADATA,
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): _TAKEN_METADATA,
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): _TAKEN_METADATA,
    ("networking.k8s.io", "servicecidrs"): _TAKEN_METADATA,
    ("resource.k8s.io", "resourceclaims"): _TAKEN_METADATA,
    ("storage.k8s.io", "volumeattachments"): _TAKEN_METADATA,
}


def free_metadata(
    new: JsonObject, old: JsonObject, but: frozenset[str] = frozenset()
) -> JsonObject:
    """The old metadata with the fields that users own taken from the new."""
    kept = judged_metadata(new, old)
    for name in _TAKEN_METADATA - but:
        _copy_field(kept, new["metadata"], name)
    return kept


def judged_metadata(new: JsonObject, old: JsonObject) -> JsonObject:
    """The old metadata with what says whom the writer means: one who means another is refused."""
    kept = dict(old["metadata"])
    for name in _JUDGED_METADATA:
        _copy_field(kept, new["metadata"], name)
    return kept


def prepare_status(kind: Kind, new: JsonObject, old: JsonObject) -> None:
    """A status update changes the status and, for most kinds, metadata that users own."""
    status = new.get("status")
    kept = free_metadata(new, old, _STATUS_KEEPS.get((kind.group, kind.plural), frozenset()))
    new.clear()
    new.update(old)
    new["metadata"] = kept
    if status is None:
        new.pop("status", None)
    else:
        new["status"] = status
    if kind.group == "apps":
        # A count that upstream keeps only where its feature is on.
        (new.get("status") or {}).pop("terminatingReplicas", None)
    step = _AT_REPORT.get((kind.group, kind.plural))
    if step is not None:
        step(new, old)


def _drop_error_codes(new: JsonObject, _: JsonObject) -> None:
    """Of a feature that upstream of this version has off."""
    for field in ("attachError", "detachError"):
        ((new.get("status") or {}).get(field) or {}).pop("errorCode", None)


def label_job(obj: JsonObject, _: JsonObject) -> None:
    """A job without labels has its template's: so upstream reads it from the store."""
    labels = ((_template(obj) or {}).get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _count_template(new: JsonObject, old: JsonObject | None) -> None:
    """Clients of long ago know a daemon set's revisions by this count; nobody may set it."""
    annotations = new["metadata"].get("annotations") or {}
    before = annotations if old is None else old["metadata"].get("annotations") or {}
    # It is a number: no other text is accepted.
    count = int(before.get(_TEMPLATE_GENERATION, "0"))
    if old is not None and _template(new) != _template(old):
        count += 1
    annotations[_TEMPLATE_GENERATION] = str(max(1, count))
    new["metadata"]["annotations"] = annotations


def _template(obj: JsonObject) -> JsonObject | None:
    return (obj.get("spec") or {}).get("template")


def _wanted(obj: JsonObject) -> JsonObject:
    return {key: value for key, value in obj.items() if key not in _NOT_WANTED}


def _copy_field(target: JsonObject, source: JsonObject, name: str) -> None:
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)


def _pod(obj: JsonObject, _: User) -> None:
    spec = obj.get("spec") or {}
    obj["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
    merge_label_keys(obj)
    if spec.get("schedulingGates"):
        obj["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": obj["metadata"]["creationTimestamp"],
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]


def _namespace(obj: JsonObject, _: User) -> None:
    spec = obj.get("spec") or {}
    finalizers = spec.get("finalizers") or []
    if "kubernetes" not in finalizers:
        finalizers = [*finalizers, "kubernetes"]
    obj["spec"] = {**spec, "finalizers": finalizers}
    obj["status"] = {"phase": "Active"}
    metadata = obj["metadata"]
    if metadata.get("name"):
        labels = metadata.get("labels") or {}
        metadata["labels"] = {**labels, "kubernetes.io/metadata.name": metadata["name"]}


def _limit_range(obj: JsonObject, _: User) -> None:
    metadata = obj["metadata"]
    if not metadata.get("name"):
        metadata["name"] = str(uuid.uuid4())


def _service_account(obj: JsonObject, _: User) -> None:
    """Of secrets it keeps the names."""
    for index, secret in enumerate(obj.get("secrets") or ()):
        obj["secrets"][index] = {"name": secret["name"]} if secret.get("name") else {}


def _service(obj: JsonObject, _: User) -> None:
    obj["status"] = {"loadBalancer": {}}


def _pending(obj: JsonObject, _: User) -> None:
    obj["status"] = {"phase": "Pending"}


def _volume(obj: JsonObject, _: User) -> None:
    since = obj["metadata"]["creationTimestamp"]
    obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": since}


def _empty_status(obj: JsonObject, _: User) -> None:
    obj["status"] = {}


def _no_replicas(obj: JsonObject, _: User) -> None:
    obj["status"] = {"replicas": 0}


def _daemon_set(obj: JsonObject, _: User) -> None:
    counts = (
        "currentNumberScheduled",
        "desiredNumberScheduled",
        "numberMisscheduled",
        "numberReady",
    )
    obj["status"] = dict.fromkeys(counts, 0)
    _count_template(obj, None)


def _job(obj: JsonObject, _: User) -> None:
    """A job without a selector of its own selects its pods by its uid.

    Labels that are there already are kept: validation refuses the wrong ones.
    """
    obj["status"] = {}
    spec = obj.get("spec") or {}
    if spec.get("manualSelector"):
        return
    metadata, uid = obj["metadata"], obj["metadata"]["uid"]
    template = spec.setdefault("template", {})
    labels = template.setdefault("metadata", {}).get("labels") or {}
    for prefix in ("", "batch.kubernetes.io/"):
        labels.setdefault(f"{prefix}job-name", metadata.get("name", ""))
        labels.setdefault(f"{prefix}controller-uid", uid)
    template["metadata"]["labels"] = labels
    selector = spec.get("selector") or {}
    chosen = {"batch.kubernetes.io/controller-uid": uid, **(selector.get("matchLabels") or {})}
    spec["selector"] = {**selector, "matchLabels": chosen}


def _priority_class(obj: JsonObject, _: User) -> None:
    """Its generation is set once and never counted."""
    obj["metadata"]["generation"] = 1


def _signing_request(obj: JsonObject, user: User) -> None:
    spec = obj.setdefault("spec", {})
    for name in ("username", "uid", "groups", "extra"):
        spec.pop(name, None)
    spec.update(user.to_json())
    obj["status"] = {}


def _api_service(obj: JsonObject, user: User) -> None:
    """One without a service is answered for by this server, always."""
    if not (obj.get("spec") or {}).get("service"):
        obj["status"] = {"conditions": [local_condition(obj["metadata"]["creationTimestamp"])]}


def _stateful_set(obj: JsonObject, user: User) -> None:
    _empty_status(obj, user)
    drop_unavailable(obj, {})


def drop_unavailable(new: JsonObject, old: JsonObject) -> None:
    """The feature MaxUnavailableStatefulSet is off: its field is kept only where it is in use."""
    rolling, before = (
        ((obj.get("spec") or {}).get("updateStrategy") or {}).get("rollingUpdate") or {}
        for obj in (new, old)
    )
    if "maxUnavailable" not in before:
        rolling.pop("maxUnavailable", None)


_AT_CREATION: Final[dict[tuple[str, str], Callable[[JsonObject, User], None]]] = {
    ("", "pods"): _pod,
    ("", "namespaces"): _namespace,
    ("", "services"): _service,
    ("", "limitranges"): _limit_range,
    ("", "serviceaccounts"): _service_account,
    ("", "persistentvolumes"): _volume,
    ("", "persistentvolumeclaims"): _pending,
    ("", "replicationcontrollers"): _no_replicas,
    ("", "resourcequotas"): _empty_status,
    ("apiregistration.k8s.io", "apiservices"): _api_service,
    ("apps", "deployments"): _empty_status,
    ("apps", "replicasets"): _no_replicas,
    ("apps", "statefulsets"): _stateful_set,
    ("apps", "daemonsets"): _daemon_set,
    ("batch", "jobs"): _job,
    ("batch", "cronjobs"): _empty_status,
    ("networking.k8s.io", "ingresses"): _empty_status,
    ("policy", "poddisruptionbudgets"): _empty_status,
    ("certificates.k8s.io", "certificatesigningrequests"): _signing_request,
    ("scheduling.k8s.io", "priorityclasses"): _priority_class,
}

_AT_REPORT: Final[dict[tuple[str, str], Callable[[JsonObject, JsonObject], None]]] = {
    ("", "nodes"): lambda new, old: (new.get("status") or {}).pop("config", None),
    ("", "pods"): complete_report,
    ("storage.k8s.io", "volumeattachments"): _drop_error_codes,
    ("apps", "daemonsets"): _count_template,
    ("batch", "jobs"): label_job,
}

_AT_UPDATE: Final[dict[tuple[str, str], Callable[[JsonObject, JsonObject], None]]] = {
    ("", "namespaces"): _keep_finalizers,
    ("", "persistentvolumeclaims"): pair_sources,
    ("", "serviceaccounts"): lambda new, old: _service_account(new, SELF),
    ("", "services"): drop_left_behind,
    ("apps", "daemonsets"): _count_template,
    ("apps", "statefulsets"): drop_unavailable,
}
