"""Every verb on every kind but those of the core group."""

from tests.upstream.exchange import JSON_PATCH, MERGE, STRATEGIC, Case, Step
from tests.upstream.objects import SAMPLES, Sample

TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
PARTIALS = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
BAD = {"metadata": {"labels": {"a": "-"}}}
OTHER = {"metadata": {"uid": "other"}}  # a Job's labels repeat it: that is another question


# Their rules need an evaluator of expressions, or a controller inside the server.
NOT_JUDGED = {
    "ValidatingAdmissionPolicy",
    "PriorityLevelConfiguration",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
}
# Writes of their status change managedFields and nothing else: events that nobody waits for.
KEEPS_METADATA = {"ServiceCIDR", "ResourceClaim"}
NOT_COMPARED = {"FlowSchema"}


def bad(sample: Sample) -> list[Step]:
    return [
        Step("POST", f"{sample.path}?dryRun=All", {"metadata": {"name": "UP_er"}}),
        Step("POST", sample.path, {}),
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
        *([] if sample.kind in NOT_JUDGED else bad(sample)),
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


CASES = [life(sample) for sample in SAMPLES if sample.kind not in NOT_COMPARED]
