"""What bodies made wrong at random found about fields of single kinds."""

from typing import Any

from tests.upstream.exchange import APPLY, JSON_PATCH, MERGE, Case, Step
from tests.upstream.objects import SAMPLES
from tests.upstream.variants import CONTAINER, DRY, POD, PODS, containers, merged

MAPS = "/api/v1/namespaces/{ns}/configmaps"
ACCOUNTS = "/api/v1/namespaces/{ns}/serviceaccounts"
JOBS = "/apis/batch/v1/namespaces/{ns}/jobs"
CLAIMS = "/api/v1/namespaces/{ns}/persistentvolumeclaims"
ZERO_WIDTH, NUL = "\u200b", "\0"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
VOLUMES = "/api/v1/persistentvolumes"
SERVICES = "/api/v1/namespaces/{ns}/services"
TEMPLATES = "/api/v1/namespaces/{ns}/podtemplates"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices"
SAMPLED = {sample.kind.split()[0]: sample for sample in SAMPLES}


def named(name: str, **fields: Any) -> Any:
    return {"metadata": {"name": name}, **fields}


def made(path: str, name: str, **fields: Any) -> Step:
    return Step("POST", path, named(name, **fields))


def tried(path: str, name: str, **fields: Any) -> Step:
    return Step("POST", f"{path}{DRY}", named(name, **fields))


def put(path: str, name: str, **fields: Any) -> Step:
    return Step("PUT", f"{path}/{name}{DRY}", named(name, **fields))


def case(name: str, *steps: Step) -> Case:
    return Case(name, steps, managed=False)


def changed(kind: str, name: str, *rows: Any) -> Case:
    """The sample is there; each row is put in its place in a trial."""
    sample = SAMPLED[kind]
    puts = [Step("PUT", f"{sample.item}{DRY}", merged(sample.named(), row)) for row in rows]
    gone = Step("DELETE", f"{sample.item}?gracePeriodSeconds=0")
    return case(name, Step("POST", sample.path, sample.named()), *puts, gone)


def pods(name: str, *specs: Any) -> Case:
    return case(name, *(Step("POST", f"{PODS}{DRY}", merged(POD, {"spec": row})) for row in specs))


def attached(source: Any, attacher: str = "a.example.com") -> Step:
    spec = {"attacher": attacher, "nodeName": "n", "source": source}
    return tried(ATTACHMENTS, "{ns}-a", spec=spec)


def inline(**spec: Any) -> Step:
    return attached({"inlineVolumeSpec": spec})


def affine(*keys: str) -> Any:
    expressions = [{"key": key, "operator": "Exists"} for key in keys]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "nodeAffinity": {"required": terms},
    }


def templated(**spec: Any) -> Step:
    return put(TEMPLATES, "a", template={"spec": {"containers": [CONTAINER], **spec}})


PORT = {"name": "http", "port": 80, "protocol": "TCP"}
BALANCED = {"type": "LoadBalancer", "loadBalancerClass": "a/b", "ports": [PORT]}
TWICE = {**BALANCED, "ports": [PORT, PORT]}
TWO = {**BALANCED, "ports": [PORT, {**PORT, "name": "b", "port": 81}]}
POLICY = {"podSelector": {"matchLabels": {"app": "a"}}, "policyTypes": ["Ingress"]}
SLICE = {"addressType": "IPv6", "endpoints": [{"addresses": ["2001:db8::1"]}], "ports": []}
LEVEL = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
TOKEN = {"serviceAccountToken": {"path": "t", "expirationSeconds": 0}}
OWNED = {"name": "a", "finalizers": ["x"], "ownerReferences": [{}, {}]}
JOB_POD = {"restartPolicy": "Never", "containers": [CONTAINER]}
CSI = {"driver": "a", "volumeHandle": "h"}
EMPTY_LABELS: Any = {"metadata": {"labels": {}, "finalizers": []}}
LONG = (
    "x" * 247, "x" * 248, "a/" + "x" * 253, "a/" + "x" * 254, "a.b/" + "x" * 255,
    "a.b/" + "x" * 256, "A/" + "x" * 255,
)  # fmt: skip

CASES = [
    containers(
        "enums that cannot be printed",
        {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": ZERO_WIDTH}]},
        {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": NUL}]},
        spec={"restartPolicy": "Never"},
    ),
    pods(
        "tolerations and accounts",
        {"tolerations": [{"operator": ZERO_WIDTH}]},
        *({"serviceAccountName": name} for name in ("50%", ".", "a/b", "none")),
    ),
    pods("images with long names", *({"containers": [{"name": "c", "image": x}]} for x in LONG)),
    case(
        "volumes inside of attachments",
        inline(),
        inline(accessModes=["ReadWriteOnce"]),
        inline(hostPath={"path": "/"}, persistentVolumeReclaimPolicy="Recycle"),
        inline(hostPath={"path": "//"}, persistentVolumeReclaimPolicy="Recycle"),
        inline(capacity={"cpu": "1"}, claimRef={"name": "x"}, storageClassName="A_"),
        inline(nodeAffinity={}, volumeMode="Block", local={"path": ""}, scaleIO={}),
        inline(volumeMode="Filesystem", persistentVolumeReclaimPolicy="Retain"),
        inline(csi=CSI, accessModes=["x"], mountOptions=["x"]),
        inline(csi=CSI, accessModes=["ReadWriteOnce"]),
        attached({"persistentVolumeName": "v"}, attacher="x" * 64),
    ),
    case(
        "labels of volumes that lose their names",
        made(VOLUMES, "{ns}-v", spec=affine("a", "beta.kubernetes.io/os")),
        put(VOLUMES, "{ns}-v", spec=affine("", "kubernetes.io/os")),
        put(VOLUMES, "{ns}-v", spec=affine("a", "")),
        put(VOLUMES, "{ns}-v", spec=affine("b", "kubernetes.io/os")),
        put(VOLUMES, "{ns}-v", spec=affine("a", "kubernetes.io/os")),
        Step("DELETE", f"{VOLUMES}/{{ns}}-v"),
    ),
    case(
        "node ports that are given twice",
        made(SERVICES, "a", spec=BALANCED),
        put(SERVICES, "a", spec=TWICE),
        put(SERVICES, "a", spec=TWO),
        put(SERVICES, "a", spec={**BALANCED, "loadBalancerClass": f"a/{NUL}"}),
        tried(SERVICES, "b", spec=TWICE),
        tried(SERVICES, "b", spec=TWO),
    ),
    case(
        "empty lists that count as changes",
        made(POLICIES, "a", spec=POLICY),
        put(POLICIES, "a", spec=POLICY),
        put(POLICIES, "a", spec={**POLICY, "egress": []}),
        Step("PATCH", f"{POLICIES}/a{DRY}", {"spec": {"egress": []}}, MERGE),
        Step("PATCH", f"{POLICIES}/a{DRY}", EMPTY_LABELS, MERGE),
        Step(
            "PATCH",
            f"{POLICIES}/a{DRY}",
            [{"op": "add", "path": "/spec/ingress", "value": []}],
            JSON_PATCH,
        ),
    ),
    case(
        "slices whose type changes",
        made(SLICES, "a", **SLICE),
        put(SLICES, "a", **{**SLICE, "addressType": "IPv4"}),
        put(SLICES, "a", addressType="IPv4", endpoints=[{"addresses": ["::2"]}], ports=[]),
    ),
    case(
        "conditions without a type",
        made(LEVELS, "{ns}-l", spec=LEVEL),
        Step(
            "PATCH",
            f"{LEVELS}/{{ns}}-l{DRY}&fieldManager=m",
            {
                "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
                "kind": "PriorityLevelConfiguration",
                **named("{ns}-l", status={"conditions": [{"message": "x"}]}),
            },
            APPLY,
        ),
        Step("DELETE", f"{LEVELS}/{{ns}}-l"),
    ),
    case(
        "templates",
        made(TEMPLATES, "a", template={"spec": {"containers": [CONTAINER]}}),
        Step("PUT", f"{TEMPLATES}/a{DRY}", {"metadata": OWNED}),
        templated(volumes=[{"name": "p", "projected": {"sources": [TOKEN]}}]),
        templated(
            resourceClaims=[{}],
            containers=[{**CONTAINER, "resources": {"claims": [{"name": "c"}]}}],
        ),
    ),
    case(
        "swap of nodes",
        *(
            tried("/api/v1/nodes", "{ns}-n", status={"nodeInfo": {"swap": {"capacity": number}}})
            for number in (-1, 0, 1)
        ),
    ),
    case(
        "replacements of what is not there",
        Step("PUT", f"{PODS}/none", {**POD, "metadata": {}}),
        Step("PUT", f"{PODS}/none", POD),
        Step("PUT", f"{PODS}/none/status", {**POD, "metadata": {}}),
        Step("PUT", f"{PODS}/none", named("none", spec=POD["spec"])),
    ),
    changed("RuntimeClass", "owners that are given twice", {"metadata": OWNED}),
    Case(
        "what tables include",
        [
            made(MAPS, "a"),
            *(
                Step("GET", f"{MAPS}{item}?includeObject={what}", headers={"Accept": accept})
                for item in ("", "/a")
                for what in ("x", "none", "", "None")
                for accept in (TABLE, "application/json")
            ),
        ],
    ),
    Case(
        "secrets of accounts without names",
        [
            made(ACCOUNTS, "a", secrets=[{"name": "s"}, {}]),
            put(ACCOUNTS, "a", secrets=[{"name": "s"}]),
            Step(
                "PATCH",
                f"{ACCOUNTS}/a?fieldManager=m",
                {"apiVersion": "v1", "kind": "ServiceAccount", **named("a")},
                APPLY,
            ),
            made(ACCOUNTS, "b", secrets=[{"name": "s"}]),
            put(ACCOUNTS, "b", secrets=[{}]),
        ],
    ),
    case(
        "addresses of pods that are none",
        Step("POST", PODS, POD),
        Step(
            "PATCH",
            f"{PODS}/p/status{DRY}",
            {"status": {"hostIPs": [{}, {"ip": "x"}], "hostIP": "x"}},
            MERGE,
        ),
        Step("PATCH", f"{PODS}/p/status{DRY}", {"status": {"podIPs": [{"ip": "x"}, {}]}}, MERGE),
    ),
    case("jobs with odd names", tried(JOBS, NUL, spec={"template": {"spec": JOB_POD}})),
    changed("Ingress", "hosts that are addresses", {"spec": {"rules": [{"host": "::1"}]}}),
    changed("StatefulSet", "odd policies", {"spec": {"podManagementPolicy": ZERO_WIDTH}}),
    changed("CSIStorageCapacity", "odd classes", {"storageClassName": ZERO_WIDTH}),
    case(
        "types of maps",
        tried(CLAIMS, "a", status={"allocatedResourceStatuses": True}),
        tried(CLAIMS, "a", status={"allocatedResourceStatuses": {"a": 1}}),
    ),
]
