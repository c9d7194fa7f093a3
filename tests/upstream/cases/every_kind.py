"""The life of an object of every kind, and what is refused of it."""

from tests.upstream.exchange import JSON_PATCH, MERGE, STRATEGIC, Case, Step
from tests.upstream.objects import SAMPLES, Sample
from tests.upstream.objects_core import CORE

TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
PARTIALS = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
BAD = {"metadata": {"labels": {"a": "-"}}}
OTHER = {"metadata": {"uid": "other"}}  # a Job's labels repeat it: that is another question


# Some writes to them change managedFields and nothing else: events that nobody waits for.
KEEPS_METADATA = {"PersistentVolumeClaim", "ServiceCIDR", "ResourceClaim"}
# Ours name the same faults in another order, or one more.
OTHER_FAULTS = {
    "Event",
    "Event of its own group",
    "CertificateSigningRequest",
    "ResourceSlice",
}
# Upstream loops until the request's time is over when it is asked for a Service of nothing.
NO_SERVICE = {"Service"}
# A controller inside the server writes to them meanwhile.
NOT_COMPARED = {"FlowSchema", "APIService", "CustomResourceDefinition"}


def bad(sample: Sample) -> list[Step]:
    return [
        Step("POST", f"{sample.path}?dryRun=All", {"metadata": {"name": "UP_er"}}),
        *([] if sample.kind in NO_SERVICE else [Step("POST", sample.path, {})]),
    ]


def life(sample: Sample) -> Case:
    item, labels = sample.item, {"labels": {"mark": "{ns}"}}
    chosen = f"{sample.path}?labelSelector=mark%3D{{ns}}"
    steps = [
        Step("POST", sample.path, sample.named(**labels)),
        Step("POST", sample.path, sample.named()),
        Step("GET", item),
        Step("GET", chosen),
        Step("GET", item, headers=TABLE),
        Step("GET", chosen, headers=TABLE),
        Step("GET", item, headers=PARTIAL),
        Step("GET", chosen, headers=PARTIALS),
        Step("PUT", item, lambda answers: answers[0].body),
        Step("PUT", item, sample.named(**labels)),
        Step("PATCH", item, {"metadata": {"labels": {"x": "y"}}}, MERGE),
        Step("PATCH", item, {"metadata": {"labels": {"x": None}}}, STRATEGIC),
        Step(
            "PATCH",
            item,
            [{"op": "add", "path": "/metadata/annotations", "value": {"n": "1"}}],
            JSON_PATCH,
        ),
        Step("PATCH", item, BAD, MERGE),
        *([] if sample.kind == "Job" else [Step("PATCH", item, OTHER, MERGE)]),
        Step("GET", f"{item}/status"),
        *status(sample),
        Step("GET", item, headers=TABLE),
        Step("DELETE", f"{item}?dryRun=All"),
        Step("DELETE", item),
        Step("DELETE", item),
        Step("GET", item),
        Step("PUT", item, sample.named()),
        Step("PATCH", item, {}, MERGE),
        *([] if sample.kind in OTHER_FAULTS else bad(sample)),
    ]
    watch = [] if sample.kind in KEEPS_METADATA else [chosen]
    return Case(sample.kind, steps, watch=watch, managed=False)


def status(sample: Sample) -> list[Step]:
    if sample.status is None:
        return []
    path = f"{sample.item}/status"
    return [
        Step("PATCH", path, {"status": sample.status, "metadata": {"labels": {"s": "t"}}}, MERGE),
        Step("PATCH", path, {"spec": {"x": 1}, "metadata": {"annotations": {"s": "t"}}}, MERGE),
        Step("PUT", path, {**sample.named(), "status": sample.status}),
        Step("PATCH", path, BAD, MERGE),
        Step("PATCH", sample.item, {"status": None}, MERGE),
    ]


CASES = [life(sample) for sample in (*CORE, *SAMPLES) if sample.kind not in NOT_COMPARED]
