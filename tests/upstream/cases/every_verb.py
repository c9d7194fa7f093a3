"""Every verb in every manner on every kind: dry runs, patches of each type, pages, watches, parts.

``test_coverage`` reads from these cases, and from all others, what is judged.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tests.upstream.cases.every_kind import PARTIAL, PARTIALS, TABLE
from tests.upstream.exchange import (
    APPLY,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Address,
    Answers,
    Case,
    Json,
    Step,
)
from tests.upstream.objects import SAMPLES, Sample
from tests.upstream.objects_core import CORE, WHEN
from tests.upstream.variants import merged

MARK = {"labels": {"mark": "{ns}"}}
SCALE = {"spec": {"replicas": 2}}
_WHEN = {"lastUpdateTime": WHEN, "lastTransitionTime": WHEN}
DECIDED = {"status": {"conditions": [{"type": "Denied", "status": "True", "reason": "r", **_WHEN}]}}
DEBUGGER = {"name": "e", "image": "i:2", "terminationMessagePolicy": "File"}
# What is written to the parts that some kinds have beside their status.
PARTS: Mapping[str, Mapping[str, Json]] = {
    "Deployment": {"scale": SCALE},
    "ReplicaSet": {"scale": SCALE},
    "StatefulSet": {"scale": SCALE},
    "ReplicationController": {"scale": SCALE},
    "CertificateSigningRequest": {"approval": DECIDED},
    "Pod": {"ephemeralcontainers": {"spec": {"ephemeralContainers": [DEBUGGER]}}},
}
# A controller inside the server would write it anew at once.
CORRECTED = {"FlowSchema", "APIService"}
# Upstream says whether its names are taken and serves them; ours are kept and nothing else.
NOT_ALIKE = {"CustomResourceDefinition"}


def chosen(sample: Sample, query: str = "") -> str:
    return f"{sample.path}?labelSelector=mark%3D{{ns}}{query}"


def everywhere(sample: Sample) -> str:
    return chosen(sample).replace("/namespaces/{ns}/", "/")


def last(path: str, query: str, field: str) -> Callable[[Answers], str]:
    """``query`` with what the last answer's metadata has for ``field``."""

    def address(answers: Answers) -> str:
        return f"{path}&{query}={answers[-1].body['metadata'].get(field)}"

    return address


def changed(back: int, **fields: Json) -> Callable[[Answers], Json]:
    """The object that was answered so many steps ago, with these fields."""

    def body(answers: Answers) -> Json:
        return merged(answers[-back].body, fields)

    return body


def made(sample: Sample) -> list[Step]:
    steps = [
        Step("POST", f"{sample.path}?dryRun=All", sample.named(**MARK)),
        Step("POST", sample.path, sample.named(**MARK)),
        Step("POST", sample.path, sample.named(2, **MARK)),
    ]
    if sample.settled:
        paths = [sample.item, f"{sample.path}/{sample.called_as(2)}"]
        steps += [Step("GET", path, until=sample.settled) for path in paths]
    return steps


def read(sample: Sample) -> list[Step]:
    item, path = sample.item, chosen(sample)
    return [
        Step("GET", item),
        Step("GET", f"{item}?resourceVersion=0"),
        Step("GET", item, headers=TABLE),
        Step("GET", item, headers=PARTIAL),
        Step("GET", path, headers=TABLE),
        Step("GET", path, headers=PARTIALS),
        Step("GET", everywhere(sample)),
        Step("GET", f"{sample.path}?fieldSelector=metadata.name%3D{sample.called}"),
        Step("GET", f"{path}&resourceVersion=0"),
        Step(
            "GET", last(f"{path}&resourceVersionMatch=Exact", "resourceVersion", "resourceVersion")
        ),
        Step("GET", f"{path}&limit=1"),
        Step("GET", last(f"{path}&limit=1", "continue", "continue")),
        Step("GET", f"{path}&limit=1", headers=TABLE),
        Step("GET", f"{path}&limit=1", headers=PARTIALS),
    ]


def begun(sample: Sample) -> list[Step]:
    """Watches that begin with what is there, and say where that ends."""
    query = "&watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0"
    path = chosen(sample, f"{query}&allowWatchBookmarks=true&timeoutSeconds=30")
    return [
        Step("GET", path, headers=form, until="initial-events-end") for form in ({}, TABLE, PARTIAL)
    ]


def written(sample: Sample) -> list[Step]:
    item = sample.item
    labels = {"metadata": {"labels": {"put": "1"}}}
    applied = {**sample.type, **sample.named(labels={"mark": "{ns}", "applied": "1"})}
    third = {**sample.type, **sample.named(3, **MARK)}
    return [
        Step("GET", item),
        Step("PUT", f"{item}?dryRun=All", changed(1, **labels)),
        Step("PUT", item, changed(2, **labels)),
        *patched(item, {"metadata": {"annotations": {"n": "1"}}}, first="/metadata/annotations"),
        *applications(item, applied),
        Step("PATCH", f"{item}?fieldManager=m", {**sample.type, **sample.named()}, APPLY),
        Step("PATCH", f"{sample.path}/{sample.called_as(3)}?fieldManager=m", third, APPLY),
        Step("GET", f"{sample.path}/{sample.called_as(3)}", until=sample.settled),
        Step("GET", item),
    ]


def patched(path: str, fields: Json, *, first: str = "") -> list[Step]:
    """The three patches that say what changes, each without effect and with it.

    ``first`` is where a JSON patch puts a whole map, else it puts each field by itself.
    """
    ops = [
        {"op": "add", "path": f"/{part}/{key}", "value": value}
        for part, entries in fields.items()
        for key, value in entries.items()
    ]
    if first:
        ops = [{"op": "add", "path": first, "value": {"j": "1"}}]
    return [
        Step("PATCH", f"{path}{dry}", body, type_)
        for type_, body in ((JSON_PATCH, ops), (MERGE, fields), (STRATEGIC, fields))
        for dry in ("?dryRun=All", "")
    ]


def applications(path: str, body: Json) -> list[Step]:
    query = "?fieldManager=m&force=true"
    return [Step("PATCH", f"{path}{query}{dry}", body, APPLY) for dry in ("&dryRun=All", "")]


def parts(sample: Sample) -> list[Step]:
    fields = dict(PARTS.get(sample.kind, {}))
    if sample.status is not None:
        fields = {"status": {"status": sample.status}, **fields}
    return [step for part, change in fields.items() for step in part_of(sample, part, change)]


def part_of(sample: Sample, part: str, change: Json) -> list[Step]:
    if sample.kind not in CORRECTED:
        return writes_of(sample, part, change)
    tried = [step for step in writes_of(sample, part, change) if "dryRun" in str(step.path)]
    # The first of them changes what was read last.
    return [Step("GET", f"{sample.item}/{part}"), *tried, *writes_of(sample, part, {"status": {}})]


def writes_of(sample: Sample, part: str, change: Json) -> list[Step]:
    path = f"{sample.item}/{part}"
    kind = {"apiVersion": "autoscaling/v1", "kind": "Scale"} if part == "scale" else sample.type
    return [
        Step("GET", path),
        Step("PUT", f"{path}?dryRun=All", changed(1, **change)),
        Step("PUT", path, changed(2, **change)),
        *patched(path, change),
        *applications(path, {**kind, "metadata": {"name": sample.called}, **change}),
        Step("GET", path),
    ]


def removed(sample: Sample) -> list[Step]:
    """All of them, in the end: two by themselves or together, the first with dry runs before."""
    both = chosen(sample)
    names = [sample.called_as(which) for which in (1, 2, 3)]
    steps = [Step("DELETE", f"{sample.item}?dryRun=All"), Step("DELETE", sample.item)]
    if sample.kind == "Namespace":
        steps += [Step("DELETE", f"{sample.path}/{name}") for name in names[1:]]
        path = sample.path + "/{}/finalize"
        steps += [
            Step("PUT", path.format(name) + dry, {"metadata": {"name": name}})
            for name in names
            for dry in ("?dryRun=All", "")
        ]
        return steps
    steps += [Step("DELETE", f"{both}&dryRun=All"), Step("DELETE", both)]
    if sample.lingers:
        none = {"metadata": {"finalizers": None}}
        steps += [Step("PATCH", f"{sample.path}/{name}", none, MERGE) for name in names]
    return [*steps, Step("GET", both)]


def seen(sample: Sample) -> list[Step]:
    """All that happened since the first was made, or both were settled, to the end of all three."""
    first = slice(1, len(made(sample)) if sample.settled else 2)

    def since(query: str) -> Address:
        def address(answers: Answers) -> str:
            versions = (answer.body["metadata"]["resourceVersion"] for answer in answers[first])
            return f"{query}&resourceVersion={max(map(int, versions))}"

        return address

    path = chosen(sample, "&watch=1&timeoutSeconds=30")
    ends: Any = {"until": '"type":"DELETED"', "times": 3}
    return [Step("GET", since(path), headers=form, **ends) for form in ({}, TABLE, PARTIAL)]


def all_of(sample: Sample) -> Case:
    make = (made, read, begun, written, parts, removed, seen)
    steps = [step for part in make for step in part(sample)]
    return Case(sample.kind, steps)


def reviewed() -> Case:
    """What is answered and not kept."""
    access, identity = "/apis/authorization.k8s.io/v1", "/apis/authentication.k8s.io/v1"
    place = {"resourceAttributes": {"namespace": "{ns}", "verb": "get", "resource": "pods"}}
    local = f"{access}/namespaces/{{ns}}/localsubjectaccessreviews"
    asked: tuple[tuple[str, Json], ...] = (
        (f"{access}/selfsubjectaccessreviews", place),
        (f"{access}/subjectaccessreviews", {**place, "user": "jane"}),
        (local, {**place, "user": "jane"}),
        (f"{identity}/tokenreviews", {"token": "nobody's"}),
        (f"{identity}/selfsubjectreviews", {}),
    )
    steps = [
        Step("POST", f"{path}{query}", {"spec": spec})
        for path, spec in asked
        for query in ("", "?dryRun=All")
    ]
    return Case("reviews", [*steps, *own_rules()])


def own_rules() -> list[Step]:
    """Of somebody with one role of each kind: the order of several is nobody's."""
    group, somebody = "rbac.authorization.k8s.io", "system:anonymous"
    rights = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"]}
    asks = {"verbs": ["create"], "apiGroups": ["*"], "resources": ["selfsubjectrulesreviews"]}
    roles = (("namespaces/{ns}/", "Role", rights), ("", "ClusterRole", asks))
    given = [
        step
        for place, kind, rule in roles
        for step in (
            Step(
                "POST",
                f"/apis/{group}/v1/{place}{kind.lower()}s",
                {"metadata": {"name": "{ns}"}, "rules": [rule]},
            ),
            Step(
                "POST",
                f"/apis/{group}/v1/{place}{kind.lower()}bindings",
                {
                    "metadata": {"name": "{ns}"},
                    "roleRef": {"apiGroup": group, "kind": kind, "name": "{ns}"},
                    "subjects": [{"kind": "User", "name": somebody}],
                },
            ),
        )
    ]
    asked = [
        Step(
            "POST",
            f"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews{query}",
            {"spec": {"namespace": "{ns}"}},
            headers={"Impersonate-User": somebody},
            until='"pods"',  # rights are seen a little later than they are given
        )
        for query in ("", "?dryRun=All")
    ]
    taken = [
        Step("DELETE", f"/apis/{group}/v1/clusterrole{word}s/{{ns}}") for word in ("binding", "")
    ]
    return [*given, *asked, *taken]


def components() -> Case:
    """One of them: their order is nobody's."""
    path = "/api/v1/componentstatuses"
    one = f"{path}?fieldSelector=metadata.name%3Detcd-0"
    steps = [
        Step("GET", f"{path}/etcd-0", headers=PARTIAL),
        Step("GET", f"{path}/etcd-0?resourceVersion=0"),
        Step("GET", one, headers=TABLE),
        Step("GET", one, headers=PARTIALS),
        Step("GET", f"{one}&resourceVersion=0"),
        Step("GET", f"{one}&resourceVersion=1&resourceVersionMatch=NotOlderThan"),
        Step("GET", f"{one}&limit=1"),
        Step("GET", f"{one}&continue=x"),
    ]
    return Case("components", steps)


def resized(limit: str, *, whole: bool = False) -> Callable[[Answers], Json]:
    """The pod that was answered last, or only its containers, with more to use."""

    def body(answers: Answers) -> Json:
        pod = answers[-1].body
        container = merged(pod["spec"]["containers"][0], {"resources": {"limits": {"cpu": limit}}})
        change = {"spec": {"containers": [container]}}
        return merged(pod, change) if whole else change

    return body


def decided() -> Case:
    """The parts of a pod and of a certificate request that can be written once, each way."""
    request, pod = KINDS["CertificateSigningRequest"], KINDS["Pod"]
    cpu = {"op": "replace", "path": "/spec/containers/0/resources/limits/cpu"}
    steps = [
        *made(request),
        Step("GET", f"{request.item}/approval"),
        Step("PUT", f"{request.item}/approval?dryRun=All", changed(1, **DECIDED)),
        *patched(f"{request.item}/approval", DECIDED),
        Step("DELETE", chosen(request)),
        Step("POST", pod.path, pod.named()),
        Step("GET", f"{pod.item}/resize"),
        Step("PUT", f"{pod.item}/resize", resized("3", whole=True)),
        Step("PATCH", f"{pod.item}/resize", resized("4"), MERGE),
        Step("PATCH", f"{pod.item}/resize", [{**cpu, "value": "5"}], JSON_PATCH),
    ]
    return Case("decisions and sizes", steps)


def found_by_name() -> Case:
    """A page of what is found by name is the whole of it, where a name is enough to find it."""
    maps = KINDS["ConfigMap"]
    name = f"fieldSelector=metadata.name%3D{maps.called}"
    steps = [
        *made(maps),
        Step("GET", f"{maps.path}?{name}&limit=1"),
        Step("GET", f"{everywhere(maps)}&{name}&limit=1"),
        Step("GET", f"{maps.path}?labelSelector=mark%3D{{ns}}&limit=2"),
        Step("GET", f"{maps.path}?labelSelector=none&limit=1"),
        Step("GET", "/api/v1/namespaces?fieldSelector=metadata.name%3D{ns}&limit=1"),
    ]
    return Case("pages of one", steps)


def nothing_yet() -> Case:
    """Bookmarks come first where there is nothing."""
    return Case("watches of nothing", begun(KINDS["ConfigMap"]))


KINDS = {sample.kind: sample for sample in (*CORE, *SAMPLES) if sample.kind not in NOT_ALIKE}
CASES = [
    *(all_of(sample) for sample in KINDS.values()),
    reviewed(),
    components(),
    decided(),
    found_by_name(),
    nothing_yet(),
]
