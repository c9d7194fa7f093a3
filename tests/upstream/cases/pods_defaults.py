"""What a pod looks like once it is made: defaults, canonical forms, zeros, tokens."""

from tests.upstream.exchange import Case, Step
from tests.upstream.variants import CONTAINER, PODS, merged, pod, posts

POD = f"{PODS}/p"
RICH = {
    "automountServiceAccountToken": True,
    "containers": [
        merged(
            CONTAINER,
            {
                "ports": [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}],
                "env": [
                    {"name": "A", "value": ""},
                    {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                ],
                "envFrom": [{"configMapRef": {"name": "a", "optional": False}}],
                "resources": {"limits": {"cpu": "0.5", "memory": "1.5Gi"}, "requests": {}},
                "livenessProbe": {"httpGet": {"port": 80}},
                "readinessProbe": {"tcpSocket": {"port": "web"}, "timeoutSeconds": 5},
                "startupProbe": {"exec": {"command": ["a"]}, "failureThreshold": 30},
                "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
                "volumeMounts": [
                    {"name": "a", "mountPath": "/a", "readOnly": False, "subPath": ""},
                    {"name": "b", "mountPath": "/b", "readOnly": True},
                ],
                "securityContext": {
                    "privileged": False,
                    "capabilities": {"add": [], "drop": ["X"]},
                },
                "stdin": False,
                "command": [],
                "workingDir": "",
            },
        )
    ],
    "initContainers": [{"name": "i", "image": "r/x/y:latest", "restartPolicy": "Always"}],
    "volumes": [
        {"name": "a"},
        {"name": "b", "configMap": {"name": "c", "items": []}},
        {"name": "c", "secret": {"secretName": "c", "optional": False}},
        {"name": "d", "hostPath": {"path": "/d"}},
        {
            "name": "e",
            "downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "metadata.uid"}}]},
        },
        {"name": "f", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "g", "emptyDir": {"sizeLimit": "1024Mi"}},
        {
            "name": "h",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1024Mi"}},
                    }
                }
            },
        },
        {
            "name": "i",
            "iscsi": {"targetPortal": "1.2.3.4", "iqn": "eui.0123456789ABCDEF", "lun": 0},
        },
        {"name": "j", "azureDisk": {"diskName": "d", "diskURI": "https://b"}},
        {"name": "k", "persistentVolumeClaim": {"claimName": "c", "readOnly": False}},
    ],
    "tolerations": [{"key": "a", "operator": "", "effect": ""}],
    "hostNetwork": False,
    "hostname": "",
    "nodeSelector": {},
    "imagePullSecrets": [],
    "securityContext": {"runAsNonRoot": False, "supplementalGroups": []},
    "terminationGracePeriodSeconds": 0,
    "dnsConfig": {"options": [{"name": "ndots", "value": "2"}, {"name": "x"}]},
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    "readinessGates": [],
}
CASES = [
    Case(
        "a pod with everything",
        [Step("POST", PODS, pod(RICH)), Step("GET", POD), Step("GET", f"{POD}/status")],
        watch=[PODS],
        managed=False,
    ),
    posts(
        "the token of the account",
        PODS,
        [
            merged(pod(), {"spec": {"automountServiceAccountToken": value}})
            for value in (True, ..., False)
        ],
    ),
    Case(
        "the account's own choice",
        [
            Step(
                "POST",
                "/api/v1/namespaces/{ns}/serviceaccounts",
                {
                    "metadata": {"name": "x"},
                    "automountServiceAccountToken": False,
                    "imagePullSecrets": [{"name": "s"}],
                },
            ),
            *(
                Step(
                    "POST",
                    f"{PODS}?dryRun=All",
                    merged(
                        pod(),
                        {"spec": {"serviceAccountName": "x", "automountServiceAccountToken": v}},
                    ),
                )
                for v in (..., True)
            ),
        ],
        managed=False,
    ),
    posts(
        "odd ways of writing things",
        PODS,
        [
            pod({"containers": [{**CONTAINER, "resources": {"limits": {"cpu": quantity}}}]})
            for quantity in (
                "1000m",
                "1.0",
                "0.1",
                "1e3",
                "1E3",
                "1Ki",
                ".5",
                "+1",
                "100u",
                "1n",
                "0.0000000001",
                "1.5k",
                "12e-3",
                "1e",
                "x",
                "",
                "1 ",
                "1Kj",
                1,
                1.5,
            )
        ],
    ),
    posts(
        "types that are wrong",
        PODS,
        [
            pod({"containers": {}}),
            pod({"containers": [[]]}),
            pod({"hostNetwork": "yes"}),
            pod({"terminationGracePeriodSeconds": "5"}),
            pod({"terminationGracePeriodSeconds": 1.5}),
            pod({"priority": 1 << 40}),
            pod({"nodeSelector": {"a": 1}}),
            pod({"nodeSelector": []}),
            pod({"containers": [{**CONTAINER, "command": "ls"}]}),
            pod({"containers": [{**CONTAINER, "env": [{"name": "A", "value": 5}]}]}),
            pod({"containers": [{**CONTAINER, "ports": [{"containerPort": "80"}]}]}),
            pod({"containers": [{**CONTAINER, "livenessProbe": {"httpGet": {"port": True}}}]}),
            pod({"containers": [{**CONTAINER, "resources": {"limits": {"cpu": True}}}]}),
            pod({"activeDeadlineSeconds": True}),
            pod({"unknown": 1}),
            pod({"containers": [{**CONTAINER, "unknown": {"a": 1}}]}),
            pod(None, labels={"a": 5}),
            pod(None, labels="a"),
            pod(None, creationTimestamp="yesterday"),
            pod(None, ownerReferences={}),
        ],
    ),
]
