"""The other fields of a pod, and its metadata."""

from typing import Any

from tests.upstream.variants import CONTAINER, PODS, merged, pod, pods, posts

SEARCHES = [f"{'s' * 60}{number}.example.com" for number in range(33)]
METADATA: tuple[dict[str, Any], ...] = (
    {"name": "P_"},
    {"name": "a" * 254},
    {"name": "a" * 64},
    {"name": "a.b"},
    {"name": ""},
    {"name": ..., "generateName": "g-"},
    {"labels": {"a b": "c"}},
    {"labels": {"a": "b c"}},
    {"labels": {"c": "d" * 64}},
    {"labels": {"a/b/c": ""}},
    {"annotations": {"a b": "c"}},
    {"annotations": {"a": "x" * (256 * 1024)}},
    {"finalizers": ["a"]},
    {"finalizers": ["a/b", "orphan", "foregroundDeletion"]},
    {"ownerReferences": [{}]},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u"}]},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "u"}]},
    {
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": name,
                "uid": name,
                "controller": True,
            }
            for name in ("a", "b")
        ]
    },
    {"generation": 5},
    {"namespace": "other"},
    {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"}},
    {"annotations": {"scheduler.alpha.kubernetes.io/critical-pod": ""}},
    {"annotations": {"container.apparmor.security.beta.kubernetes.io/c": "runtime/default"}},
    {"annotations": {"container.apparmor.security.beta.kubernetes.io/c": "bad"}},
    {"annotations": {"container.apparmor.security.beta.kubernetes.io/d": "unconfined"}},
    {"annotations": {"container.seccomp.security.alpha.kubernetes.io/c": "x"}},
    {"annotations": {"kubernetes.io/config.mirror": "x"}},
    {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "x"}},
    {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "+1"}},
    {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "5"}},
    {
        "annotations": {
            "scheduler.alpha.kubernetes.io/tolerations": "[]",
            "scheduler.alpha.kubernetes.io/affinity": "{}",
        }
    },
    {"annotations": {"pod.beta.kubernetes.io/init-containers": "[]"}},
    {"annotations": {"service.alpha.kubernetes.io/tolerate-unready-endpoints": "true"}},
)
CASES = [
    pods(
        "dns",
        {"dnsPolicy": "Default"},
        {"dnsPolicy": "None"},
        {"dnsPolicy": "Other"},
        {"dnsPolicy": ""},
        {"dnsPolicy": "None", "dnsConfig": {}},
        {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}},
        {"dnsConfig": {"nameservers": ["1.1.1.1", "x", "::1"]}},
        {"dnsConfig": {"nameservers": ["1.1.1.1"] * 4}},
        {"dnsConfig": {"nameservers": ["01.1.1.1"]}},
        {"dnsConfig": {"searches": ["a.b", "a_b", "A", "-a", ".", "a.", ""]}},
        {"dnsConfig": {"searches": ["a"] * 33}},
        {"dnsConfig": {"searches": SEARCHES}},
        {"dnsConfig": {"options": [{"name": "ndots", "value": "2"}, {"value": "x"}]}},
    ),
    pods(
        "names in the spec",
        {"hostname": "h"},
        {"hostname": "H_"},
        {"hostname": "a.b"},
        {"hostname": "a" * 64},
        {"subdomain": "a.b"},
        {"subdomain": "s"},
        {"hostname": "h", "setHostnameAsFQDN": True},
        {"hostnameOverride": "x.y"},
        {"serviceAccountName": "nobody"},
        {"serviceAccountName": "N_"},
        {"serviceAccount": "default"},
        {"serviceAccountName": "default", "serviceAccount": "other"},
        {"imagePullSecrets": [{"name": "a"}]},
        {"imagePullSecrets": [{}]},
        {"imagePullSecrets": [{"name": "A_"}, {"name": "a"}, {"name": "a"}]},
    ),
    pods(
        "host aliases",
        {"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a"]}]},
        {"hostAliases": [{"ip": "x", "hostnames": ["a"]}]},
        {"hostAliases": [{"ip": "::1", "hostnames": ["A_", "a.b"]}]},
        {"hostAliases": [{"hostnames": ["a"]}]},
        {"hostAliases": [{"ip": "1.2.3.4"}]},
        {"hostAliases": [{"ip": "001.2.3.4", "hostnames": ["a"]}]},
        {"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a"]}] * 2},
    ),
    pods(
        "times and policies",
        {"restartPolicy": "Sometimes"},
        {"restartPolicy": ""},
        {"restartPolicy": "Never"},
        {"activeDeadlineSeconds": 0},
        {"activeDeadlineSeconds": -1},
        {"activeDeadlineSeconds": 1},
        {"activeDeadlineSeconds": 1 << 31},
        {"terminationGracePeriodSeconds": -1},
        {"terminationGracePeriodSeconds": 0},
        {"terminationGracePeriodSeconds": 1 << 40},
        {"enableServiceLinks": False},
        {"automountServiceAccountToken": True},
        {"automountServiceAccountToken": ...},
    ),
    posts(
        "metadata",
        PODS,
        [pod(None, **row) for row in METADATA],
    ),
    posts(
        "pods that are strange as a whole",
        PODS,
        [
            {},
            {"metadata": {"name": "p"}},
            {"metadata": {"name": "p"}, "spec": {}},
            {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {"foo": 1}},
            {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "p"}},
            merged(pod(), {"status": {"phase": "Running", "podIP": "1.2.3.4"}}),
        ],
    ),
    pods(
        "duplicates that warn",
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]},
        {
            "tolerations": [{"key": "a", "operator": "Exists"}] * 2,
            "imagePullSecrets": [{"name": "a"}, {"name": "a"}],
        },
        {"initContainers": [merged(CONTAINER, {"name": "i", "env": [{"name": "A"}] * 2})]},
        {"terminationGracePeriodSeconds": -5},
    ),
]
