from typing import Any

import pytest

from winkube.api.decode import clone
from winkube.api.defaulting.pod import default_pull_policy
from winkube.api.defaults import apply_defaults
from winkube.api.fields import check_fields
from winkube.api.kinds import KINDS, Kind
from winkube.api.qos import qos_class
from winkube.api.schema import load_schema

SCHEMA = load_schema()


def kind(group: str, name: str) -> Kind:
    found = KINDS.by_gvk(group, "v2" if group == "autoscaling" else "v1", name)
    assert found is not None
    return found


def defaulted(group: str, name: str, obj: dict[str, Any]) -> dict[str, Any]:
    target = clone(obj)
    apply_defaults(kind(group, name), target)
    again = clone(target)
    apply_defaults(kind(group, name), again)
    assert again == target
    assert check_fields(SCHEMA, kind(group, name), target).clean
    return dict(target)


TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i:1"}]}}


def test_a_pod_gets_upstreams_defaults() -> None:
    pod = defaulted("", "Pod", {"spec": {"containers": [{"name": "c", "image": "i"}]}})
    assert pod == {
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "imagePullPolicy": "Always",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }
            ],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
        },
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a", "Always"), ("a:latest", "Always"), ("a:1", "IfNotPresent"),
        ("host:5000/a", "Always"), ("host:5000/a:1", "IfNotPresent"),
        ("a@sha256:" + "0" * 64, "IfNotPresent"), ("a:latest@sha256:0", "IfNotPresent"),
    ],
)  # fmt: skip
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert default_pull_policy(image) == policy


def test_probes_ports_and_references_are_completed() -> None:
    container = {
        "name": "c",
        "image": "i:1",
        "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": 80}},
        "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    }
    spec = defaulted("", "Pod", {"spec": {"hostNetwork": True, "containers": [container]}})["spec"]
    found = spec["containers"][0]
    assert found["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    assert found["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert found["lifecycle"]["preStop"]["httpGet"]["scheme"] == "HTTP"
    assert found["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"


def test_volumes_are_completed() -> None:
    volumes = [
        {"name": "a"},
        {"name": "b", "secret": {"secretName": "s"}},
        {"name": "c", "hostPath": {"path": "/x"}},
        {"name": "d", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
    ]
    spec = {**TEMPLATE["spec"], "volumes": volumes}
    found = defaulted("", "Pod", {"spec": spec})["spec"]["volumes"]
    assert found[0]["emptyDir"] == {}
    assert found[1]["secret"]["defaultMode"] == 420
    assert found[2]["hostPath"]["type"] == ""
    token = found[3]["projected"]["sources"][0]["serviceAccountToken"]
    assert (token["expirationSeconds"], found[3]["projected"]["defaultMode"]) == (3600, 420)


def test_requests_follow_limits_in_a_pod_but_not_in_a_template() -> None:
    spec = {"containers": [{"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "1"}}}]}
    pod = defaulted("", "Pod", {"spec": spec})
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    deployment = defaulted("apps", "Deployment", {"spec": {"template": {"spec": spec}}})
    inner = deployment["spec"]["template"]["spec"]["containers"][0]
    assert "requests" not in inner["resources"]


def test_quantities_finer_than_a_thousandth_are_rounded_up() -> None:
    resources = {"limits": {"cpu": "1500001n"}}
    spec = {"containers": [{"name": "c", "image": "i:1", "resources": resources}]}
    pod = defaulted("", "Pod", {"spec": spec})
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "2m"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"limits": {"cpu": "1000m", "memory": "1Gi"}, "requests": {"cpu": "1"}}], "Guaranteed"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
    ],
)
def test_quality_of_service(resources: list[dict[str, Any]], expected: str) -> None:
    assert qos_class({"containers": [{"resources": entry} for entry in resources]}) == expected


def test_a_deployment_rolls_a_quarter_at_a_time() -> None:
    spec = defaulted("apps", "Deployment", {"spec": {"template": TEMPLATE}})["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert (spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (10, 600)
    assert spec["template"]["spec"]["restartPolicy"] == "Always"
    zero = defaulted("apps", "Deployment", {"spec": {"replicas": 0, "template": TEMPLATE}})
    assert zero["spec"]["replicas"] == 0
    recreate = {"spec": {"strategy": {"type": "Recreate"}, "template": TEMPLATE}}
    assert defaulted("apps", "Deployment", recreate)["spec"]["strategy"] == {"type": "Recreate"}


def test_other_workloads() -> None:
    daemon = defaulted("apps", "DaemonSet", {"spec": {"template": TEMPLATE}})["spec"]
    assert daemon["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    stateful = defaulted("apps", "StatefulSet", {"spec": {"template": TEMPLATE}})["spec"]
    assert stateful["podManagementPolicy"] == "OrderedReady"
    assert stateful["updateStrategy"]["rollingUpdate"] == {"partition": 0}
    job = defaulted("batch", "Job", {"spec": {"template": TEMPLATE}})["spec"]
    assert (job["completions"], job["parallelism"], job["backoffLimit"]) == (1, 1, 6)
    queue = defaulted("batch", "Job", {"spec": {"parallelism": 3, "template": TEMPLATE}})["spec"]
    assert "completions" not in queue
    cron = {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}}}
    found = defaulted("batch", "CronJob", cron)["spec"]
    assert (found["concurrencyPolicy"], found["successfulJobsHistoryLimit"]) == ("Allow", 3)
    assert "backoffLimit" not in found["jobTemplate"]["spec"]


def test_services_by_type() -> None:
    plain = defaulted("", "Service", {"spec": {"ports": [{"port": 80}]}})
    assert plain["spec"] == {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    }
    assert plain["status"] == {"loadBalancer": {}}
    node = defaulted("", "Service", {"spec": {"type": "NodePort"}})["spec"]
    assert node["externalTrafficPolicy"] == "Cluster"
    balanced = defaulted("", "Service", {"spec": {"type": "LoadBalancer"}})["spec"]
    assert balanced["allocateLoadBalancerNodePorts"] is True
    sticky = defaulted("", "Service", {"spec": {"sessionAffinity": "ClientIP"}})["spec"]
    assert sticky["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}
    name = defaulted("", "Service", {"spec": {"type": "ExternalName"}})["spec"]
    assert "internalTrafficPolicy" not in name
    for policy, kept in (("Local", False), ("other", True)):
        named = {"type": "ExternalName", "internalTrafficPolicy": policy}
        spec = defaulted("", "Service", {"spec": named})["spec"]
        assert ("internalTrafficPolicy" in spec) is kept, policy  # for validation to refuse


def test_string_data_of_a_secret_becomes_data() -> None:
    secret = defaulted("", "Secret", {"stringData": {"a": "hé"}, "data": {"b": "eA=="}})
    assert secret == {"type": "Opaque", "data": {"a": "aMOp", "b": "eA=="}}


def test_a_namespace_is_active_and_labelled() -> None:
    namespace = defaulted("", "Namespace", {"metadata": {"name": "x"}})
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    assert namespace["status"] == {"phase": "Active"}


def test_network_policy_types_follow_the_rules() -> None:
    assert defaulted("networking.k8s.io", "NetworkPolicy", {"spec": {"podSelector": {}}})["spec"][
        "policyTypes"
    ] == ["Ingress"]
    both = {"spec": {"podSelector": {}, "egress": [{"ports": [{"port": 53}]}]}}
    spec = defaulted("networking.k8s.io", "NetworkPolicy", both)["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["egress"][0]["ports"][0]["protocol"] == "TCP"


def test_every_kind_can_be_defaulted_from_nothing() -> None:
    for entry in KINDS.all():
        obj: dict[str, Any] = {"metadata": {"name": "a"}}
        apply_defaults(entry, obj)
        again = clone(obj)
        apply_defaults(entry, again)
        assert again == obj, entry.kind
