from typing import Any

import pytest

from winkube.api.decode import clone
from winkube.api.defaults import apply_defaults
from winkube.api.kinds import KINDS, Kind
from winkube.api.validation import validate_create, validate_update


def kind(name: str, group: str = "", version: str = "v1") -> Kind:
    found = KINDS.by_gvk(group, version, name)
    assert found is not None
    return found


POD, DEPLOYMENT, SERVICE = kind("Pod"), kind("Deployment", "apps"), kind("Service")


def complete(entry: Kind, obj: dict[str, Any]) -> dict[str, Any]:
    full = clone(obj)
    full.setdefault("kind", entry.kind)
    meta = full.setdefault("metadata", {})
    meta.setdefault("name", "a")
    if entry.namespaced:
        meta.setdefault("namespace", "default")
    apply_defaults(entry, full)
    return dict(full)


def problems(entry: Kind, obj: dict[str, Any]) -> list[str]:
    return [f"{c.field}: {c.message}" for c in validate_create(entry, complete(entry, obj))]


def changes(entry: Kind, new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    causes = validate_update(entry, complete(entry, new), complete(entry, old))
    return [f"{cause.field}: {cause.message}" for cause in causes]


def pod(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "image": "i", **(container or {})}], **spec}}


def test_a_plain_pod_is_valid() -> None:
    assert problems(POD, pod()) == []


@pytest.mark.parametrize(
    "name", ["../etc", "a/b", "A", "a_b", "-a", "a-", "a\x00b", "é", " a", "a\n", "a..b", "x" * 254]
)
def test_names_that_are_no_subdomain_are_refused(name: str) -> None:
    found = validate_create(POD, complete(POD, {**pod(), "metadata": {"name": name}}))
    assert found
    assert found[0].field == "metadata.name"
    assert found[0].reason == "FieldValueInvalid"


def test_the_sentence_about_a_bad_name_is_upstreams() -> None:
    assert problems(POD, {**pod(), "metadata": {"name": "A"}}) == [
        'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower '
        "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
        "character (e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    ]


def test_rbac_names_may_be_anything_that_is_a_path_segment() -> None:
    role = kind("ClusterRole", "rbac.authorization.k8s.io")
    assert problems(role, {"metadata": {"name": "system:node:x"}}) == []
    bad = [problems(role, {"metadata": {"name": name}}) for name in ("..", "a/b", "a%b")]
    assert all(bad)


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        ({"labels": {"-a": "b"}}, 'metadata.labels: Invalid value: "-a": name part must consist'),
        ({"labels": {"a": "-b"}}, 'metadata.labels: Invalid value: "-b": a valid label must be'),
        ({"labels": {"/a": "b"}}, "prefix part must be non-empty"),
        ({"labels": {"a/b/c": "d"}}, "a qualified name must consist of"),
        ({"annotations": {"a b": ""}}, 'metadata.annotations: Invalid value: "a b"'),
        ({"annotations": {"a": "x" * 300_000}}, "Too long: may not be more than 262144 bytes"),
        ({"finalizers": ["nope"]}, "name is neither a standard finalizer name nor is it fully"),
        ({"generateName": "AB-", "name": "a"}, "metadata.generateName: Invalid value"),
        ({"ownerReferences": [{"kind": "X"}]}, "metadata.ownerReferences.uid"),
        ({"namespace": "a.b"}, "must not contain dots"),
    ],
)
def test_metadata_rules(meta: dict[str, Any], text: str) -> None:
    assert any(text in line for line in problems(POD, {**pod(), "metadata": meta}))


def test_a_generate_name_may_end_in_a_dash() -> None:
    assert problems(POD, {**pod(), "metadata": {"generateName": "web-", "name": "web-x"}}) == []


def test_a_cluster_object_has_no_namespace() -> None:
    assert problems(kind("Node"), {"metadata": {"namespace": "x"}}) == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]


@pytest.mark.parametrize(
    ("obj", "line"),
    [
        ({"spec": {}}, "spec.containers: Required value"),
        (pod({"name": ""}), "spec.containers[0].name: Required value"),
        (pod({"image": ""}), "spec.containers[0].image: Required value"),
        (
            pod({"image": " i"}),
            'spec.containers[0].image: Invalid value: " i": must not have leading or trailing '
            "whitespace",
        ),
        (
            pod(restartPolicy="Sometimes"),
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", '
            '"OnFailure", "Never"',
        ),
        (
            pod({"ports": [{"containerPort": 70000}]}),
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 "
            "and 65535, inclusive",
        ),
        (
            pod({"volumeMounts": [{"name": "v", "mountPath": "/x"}]}),
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
        (
            pod({"env": [{"name": "A=B"}]}),
            'spec.containers[0].env[0].name: Invalid value: "A=B": a valid environment variable '
            "name must consist only of printable ASCII characters other than '='",
        ),
        (
            pod({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}}]}),
            'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: '
            '"status.phase": '
            'supported values: "metadata.name", "metadata.namespace", "metadata.uid", '
            '"spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", '
            '"status.podIP", "status.podIPs"',
        ),
        (
            pod({"livenessProbe": {}}),
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
        ),
        (
            pod({"livenessProbe": {"exec": {"command": ["a"]}, "successThreshold": 2}}),
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ),
        (
            pod({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}),
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or '
            "equal to cpu limit of 1",
        ),
        (
            pod({"resources": {"limits": {"gpu": "1"}}}),
            'spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": must be a standard '
            "resource for containers",
        ),
        (
            pod(volumes=[{"name": "v", "hostPath": {"path": "/a/../b"}}]),
            "spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
        ),
        (
            pod(volumes=[{"name": "v", "emptyDir": {}, "secret": {"secretName": "s"}}]),
            "spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type",
        ),
        (
            pod(volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]),
            'spec.volumes[1].name: Duplicate value: "v"',
        ),
        (
            pod(tolerations=[{"operator": "Equal"}]),
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when '
            '`key` is empty, which means "match all values and all keys"',
        ),
        (pod(activeDeadlineSeconds=0), "spec.activeDeadlineSeconds: Invalid value: 0: must be "
         "between 1 and 2147483647, inclusive"),
        (
            pod(dnsPolicy="None"),
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (
            pod(initContainers=[{"name": "i", "image": "i", "livenessProbe": {"exec": {}}}]),
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers "
            "without restartPolicy=Always",
        ),
        (
            pod(initContainers=[{"name": "c", "image": "i"}]),
            'spec.initContainers[0].name: Duplicate value: "c"',
        ),
        (
            pod(ephemeralContainers=[{"name": "e", "image": "i"}]),
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
        ),
    ],
)  # fmt: skip
def test_pods_are_refused_in_upstreams_words(obj: dict[str, Any], line: str) -> None:
    assert line in problems(POD, obj)


def windows(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return pod(container, os={"name": "windows"}, **spec)


@pytest.mark.parametrize(
    "field",
    ["appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy",
     "sysctls", "runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy",
     "seLinuxChangePolicy"],
)  # fmt: skip
def test_linux_fields_of_a_windows_pods_context_are_refused(field: str) -> None:
    value: Any = {"type": "RuntimeDefault"} if field.endswith("Profile") else 1
    if field == "sysctls":
        value = [{"name": "a.b", "value": "1"}]
    if field == "supplementalGroups":
        value = [1]
    line = f"spec.securityContext.{field}: Forbidden: cannot be set for a windows pod"
    assert line in problems(POD, windows(securityContext={field: value}))


@pytest.mark.parametrize(
    ("field", "value"),
    [("hostPID", True), ("hostIPC", True), ("shareProcessNamespace", False), ("hostUsers", True)],
)
def test_linux_fields_of_a_windows_pod_are_refused(field: str, value: bool) -> None:
    obj = windows()
    obj["spec"][field] = value
    line = f"spec.{field}: Forbidden: cannot be set for a windows pod"
    assert line in problems(POD, obj)


@pytest.mark.parametrize(
    "field",
    ["capabilities", "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation",
     "procMount", "runAsUser", "runAsGroup", "seLinuxOptions"],
)  # fmt: skip
def test_linux_fields_of_a_windows_container_are_refused_even_when_false(field: str) -> None:
    value: Any = {} if field in ("capabilities", "seLinuxOptions") else False
    context = {field: value}
    line = f"spec.containers[0].securityContext.{field}: Forbidden: cannot be set for a windows pod"
    assert line in problems(POD, windows({"securityContext": context}))


def test_a_windows_pod_may_use_the_hosts_network_and_windows_options() -> None:
    options = {"windowsOptions": {"runAsUserName": "ContainerAdministrator"}, "runAsNonRoot": True}
    assert problems(POD, windows(hostNetwork=True, securityContext=options)) == []


def test_windows_options_do_not_fit_a_linux_pod() -> None:
    options = {"securityContext": {"windowsOptions": {"runAsUserName": "x"}}}
    found = problems(POD, pod(options, os={"name": "linux"}, **options))
    text = "windows options cannot be set for a linux pod"
    assert f"spec.securityContext.windowsOptions: Forbidden: {text}" in found
    assert f"spec.containers[0].securityContext.windowsOptions: Forbidden: {text}" in found


def test_an_operating_system_is_linux_or_windows() -> None:
    assert "spec.os.name: Required value" in problems(POD, pod(os={"name": ""}))
    assert problems(POD, pod(os={"name": "plan9"})) == [
        'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'
    ]


@pytest.mark.parametrize(
    ("user", "text"),
    [
        ("", "runAsUserName cannot be an empty string"),
        ("a\tb", "runAsUserName cannot contain control characters"),
        ("a\\b\\c", "runAsUserName cannot contain more than one backslash"),
        ("d" * 256 + "\\u", "runAsUserName's Domain length must be under 256 characters"),
        ("bad|domain\\u", "runAsUserName's Domain doesn't match the NetBios nor the DNS format"),
        ("domain\\", "runAsUserName's User cannot be empty"),
        ("u" * 105, "runAsUserName's User length must not be longer than 104 characters"),
        (". .", "runAsUserName's User cannot contain only periods or spaces"),
        ("a@b", "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"),
    ],
)
def test_run_as_user_name_rules(user: str, text: str) -> None:
    context = {"windowsOptions": {"runAsUserName": user}}
    causes = validate_create(POD, complete(POD, pod({"securityContext": context})))
    assert any(cause.message.endswith(text) for cause in causes)


@pytest.mark.parametrize("user", ["ContainerUser", "NT AUTHORITY\\SYSTEM", "corp.example\\svc"])
def test_real_windows_users_are_fine(user: str) -> None:
    context = {"windowsOptions": {"runAsUserName": user}}
    assert problems(POD, pod({"securityContext": context})) == []


def test_host_process_containers_come_all_or_none_and_use_the_hosts_network() -> None:
    on = {"securityContext": {"windowsOptions": {"hostProcess": True}}}
    found = problems(POD, pod(on, initContainers=[{"name": "i", "image": "i"}]))
    assert (
        'spec: Invalid value: "": If pod contains any hostProcess containers then all containers '
        "must be HostProcess containers"
    ) in found
    assert (
        "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any "
        "hostProcess containers"
    ) in found
    off = {"windowsOptions": {"hostProcess": False}}
    mixed = problems(POD, pod(on, securityContext=off, hostNetwork=True))
    assert (
        "spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: true: pod "
        "hostProcess value must be identical if both are specified, was false"
    ) in mixed
    assert problems(POD, pod(hostNetwork=True, **on)) == []


def test_gmsa_specs_are_bounded() -> None:
    for spec, text in (("", "cannot be an empty string"), ("x" * 65537, "must be under 64 KiB")):
        context = {"windowsOptions": {"gmsaCredentialSpec": spec}}
        assert text in problems(POD, pod({"securityContext": context}))[0]


def test_a_pods_image_may_change_and_its_node_may_not() -> None:
    assert changes(POD, pod({"image": "other"}), pod()) == []
    found = changes(POD, pod(nodeName="b"), pod(nodeName="a"))
    assert found[0].startswith("spec: Forbidden: pod updates may not change fields other than")
    assert '- "NodeName": "a",\n+ "NodeName": "b",' in found[0]


def test_a_pods_containers_are_for_life() -> None:
    more = pod()
    more["spec"]["containers"].append({"name": "d", "image": "i"})
    assert changes(POD, more, pod()) == [
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    ]


def test_tolerations_may_only_be_added() -> None:
    one, two = {"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}
    assert changes(POD, pod(tolerations=[one, two]), pod(tolerations=[one])) == []
    assert changes(POD, pod(tolerations=[two]), pod(tolerations=[one])) == [
        "spec.tolerations: Forbidden: existing toleration can not be modified except its "
        "tolerationSeconds"
    ]


def test_a_status_update_does_not_judge_the_spec_again() -> None:
    old = complete(POD, pod(restartPolicy="Sometimes"))
    new = {**clone(old), "status": {"phase": "Running"}}
    assert validate_update(POD, new, old) == []


@pytest.mark.parametrize(
    ("field", "value"), [("name", "b"), ("uid", "2"), ("creationTimestamp", "x")]
)
def test_identity_is_immutable(field: str, value: str) -> None:
    old = {"metadata": {"uid": "1"}, **pod()}
    new = {"metadata": {"uid": "1", field: value}, **pod()}
    assert any(line.startswith(f"metadata.{field}: ") for line in changes(POD, new, old))


def test_no_finalizer_is_added_to_what_is_being_deleted() -> None:
    old = {"metadata": {"deletionTimestamp": "t", "finalizers": ["a.b/c"]}, **pod()}
    new = {"metadata": {"deletionTimestamp": "t", "finalizers": ["a.b/c", "a.b/d"]}, **pod()}
    # Once for every object, and once more for the kind: upstream says it twice.
    assert changes(POD, new, old) == 2 * [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
        'deleted, found new finalizers []string{"a.b/d"}'
    ]


def deployment(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "a"}}, **pod()}
    return {"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template, **spec}}


def test_a_plain_deployment_is_valid() -> None:
    assert problems(DEPLOYMENT, deployment()) == []


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ({"selector": None}, "spec.selector: Required value"),
        (
            {"selector": {}},
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
        ),
        (
            {"selector": {"matchLabels": {"app": "b"}}},
            'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match '
            "template `labels`",
        ),
        (
            {"replicas": -1},
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "0%"}}},
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when "
            "`maxSurge` is 0",
        ),
        (
            {"strategy": {"rollingUpdate": {"maxUnavailable": "many"}}},
            'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "many": a valid percent '
            "string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
            "regex used for validation is '[0-9]+%')",
        ),
        (
            {"progressDeadlineSeconds": 5, "minReadySeconds": 5},
            "spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds",
        ),
        (
            {"template": {"metadata": {"labels": {"app": "a"}}, **pod(restartPolicy="Never")}},
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: '
            '"Always"',
        ),
        (
            {"template": {"metadata": {"labels": {"app": "a"}}, **pod({"image": ""})}},
            "spec.template.spec.containers[0].image: Required value",
        ),
    ],
)
def test_deployments_are_refused_in_upstreams_words(spec: dict[str, Any], line: str) -> None:
    assert line in problems(DEPLOYMENT, deployment(**spec))


def test_a_missing_selector_is_said_twice_as_upstream_does() -> None:
    assert problems(DEPLOYMENT, deployment(selector=None))[:2] == [
        "spec.selector: Required value",
        'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match '
        "template `labels`",
    ]


def test_a_deployments_selector_is_immutable() -> None:
    labels = {"app": "a", "x": "y"}
    template = {"metadata": {"labels": labels}, **pod()}
    new = deployment(selector={"matchLabels": labels}, template=template)
    assert changes(DEPLOYMENT, new, deployment()) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"a","x":"y"}}: field is immutable'
    ]


def test_a_schedule_has_five_fields() -> None:
    spec = {"schedule": "every day", "jobTemplate": {"spec": {"template": pod()}}}
    assert (
        'spec.schedule: Invalid value: "every day": expected exactly 5 fields, found 2: [every day]'
        in problems(kind("CronJob", "batch"), {"metadata": {"name": "c"}, "spec": spec})
    )


def test_debug_containers_may_only_be_added() -> None:
    def with_debuggers(*containers: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": {"name": "p"}, **pod(ephemeralContainers=list(containers))}

    def said(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
        states = complete(POD, new), complete(POD, old)
        causes = validate_update(POD, *states, part="ephemeralcontainers")
        return [f"{cause.field}: {cause.message}".strip() for cause in causes]

    one, two = ({"name": name, "image": "i"} for name in ("one", "two"))
    assert said(with_debuggers(one), with_debuggers()) == []
    assert said(with_debuggers(one, two), with_debuggers(one)) == []
    head = 'spec.ephemeralContainers: Forbidden: existing ephemeral containers "one" may not be'
    assert said(with_debuggers(two), with_debuggers(one)) == [f"{head} removed"]
    (changed,) = said(with_debuggers({**one, "image": "j"}), with_debuggers(one))
    assert changed.startswith(f'{head} changed\n@@ -1,6 +1,6 @@\n {{\n  "Name": "one",\n- "Image"')
    assert changes(POD, with_debuggers(one), with_debuggers()) != []


def test_a_job_has_to_choose_when_to_restart() -> None:
    job = kind("Job", "batch")
    own = {"manualSelector": True, "selector": {}}
    assert problems(job, {"spec": {"template": pod(), **own}}) == [
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'
    ]
    assert problems(job, {"spec": {"template": pod(restartPolicy="Never"), **own}}) == []


def test_a_stateful_set_may_mount_what_it_claims() -> None:
    entry = kind("StatefulSet", "apps")
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    mounts = {"volumeMounts": [{"name": "data", "mountPath": "/d"}]}
    template = {"metadata": {"labels": {"app": "a"}}, **pod(mounts)}
    obj = deployment(template=template, volumeClaimTemplates=[claim])
    assert problems(entry, obj) == []
    other = deployment(template=template, volumeClaimTemplates=[claim], serviceName="b")
    assert changes(entry, other, obj)[0].startswith(
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas'"
    )


def service(*ports: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"ports": list(ports) or [{"port": 80}], **spec}}


@pytest.mark.parametrize(
    ("obj", "line"),
    [
        ({"spec": {}}, "spec.ports: Required value"),
        (
            service({"port": 0}),
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (service({"port": 1}, {"port": 2}), "spec.ports[0].name: Required value"),
        (
            service({"port": 1, "name": "a"}, {"port": 1, "name": "b"}),
            'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,'
            '"Port":1,"TargetPort":0,"NodePort":0}',
        ),
        (
            service({"port": 1, "nodePort": 30000}),
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        (
            service(type="Magic"),
            'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", '
            '"ExternalName", "LoadBalancer", "NodePort"',
        ),
        (
            service(clusterIP="10.0.0", clusterIPs=["10.0.0"]),
            'spec.clusterIPs[0]: Invalid value: "10.0.0": must be a valid IP address, (e.g. '
            "10.9.8.7 or 2001:db8::ffff)",
        ),
        (
            service(externalIPs=["127.0.0.1"]),
            'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range '
            "(127.0.0.0/8, ::1/128)",
        ),
        (service(type="ExternalName"), "spec.externalName: Required value"),
        (
            service(sessionAffinity="Sticky"),
            'spec.sessionAffinity: Unsupported value: "Sticky": supported values: "ClientIP", '
            '"None"',
        ),
    ],
)
def test_services_are_refused_in_upstreams_words(obj: dict[str, Any], line: str) -> None:
    assert line in problems(SERVICE, obj)


def test_a_headless_service_needs_no_port() -> None:
    assert problems(SERVICE, {"spec": {"clusterIP": "None", "clusterIPs": ["None"]}}) == []


def test_a_service_name_is_a_label_that_starts_with_a_letter() -> None:
    assert "a DNS-1035 label" in problems(SERVICE, {**service(), "metadata": {"name": "1a"}})[0]


def test_a_services_address_may_not_change() -> None:
    new, old = (
        service(clusterIP=address, clusterIPs=[address]) for address in ("10.96.0.2", "10.96.0.1")
    )
    assert changes(SERVICE, new, old) == [
        'spec.clusterIPs[0]: Invalid value: ["10.96.0.2"]: may not change once set'
    ]


def test_config_maps_and_secrets_are_bounded_and_freezable() -> None:
    config, secret = kind("ConfigMap"), kind("Secret")
    assert "Too long" in problems(config, {"data": {"a": "x" * (1 << 20) + "y"}})[0]
    assert "Too long" in problems(secret, {"data": {"a": "AAAA" * 400_000}})[0]
    assert "must not start with '..'" in problems(config, {"data": {"..a": ""}})[0]
    assert problems(config, {"data": {"a/b": ""}})
    frozen = {"data": {"a": "1"}, "immutable": True}
    assert changes(config, {"data": {"a": "2"}, "immutable": True}, frozen) == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]
    assert changes(secret, {"type": "b"}, {"type": "a"}) == [
        'type: Invalid value: "b": field is immutable'
    ]
    assert problems(secret, {"type": "kubernetes.io/tls"}) == [
        "data[tls.crt]: Required value",
        "data[tls.key]: Required value",
    ]


def test_a_nodes_pod_cidr_is_set_once() -> None:
    node = kind("Node")
    given = {"spec": {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.1.0/24"]}}
    assert changes(node, given, {"spec": {}}) == []
    other = {"spec": {"podCIDR": "10.244.2.0/24", "podCIDRs": ["10.244.2.0/24"]}}
    assert changes(node, other, given) == [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'
    ]


def test_taints_are_unique_by_key_and_effect() -> None:
    taint = {"key": "a", "effect": "NoSchedule"}
    found = problems(kind("Node"), {"spec": {"taints": [taint, taint]}})
    assert found[0].endswith("taints must be unique by key and effect pair")


def test_role_bindings() -> None:
    binding = kind("RoleBinding", "rbac.authorization.k8s.io")
    fine = {
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u"}],
    }
    assert problems(binding, fine) == []
    account = {**fine, "subjects": [{"kind": "ServiceAccount", "name": "s"}]}
    assert problems(binding, account) == []  # an account of the binding's own namespace
    other = {**fine, "roleRef": {"kind": "Role", "name": "x"}}
    assert changes(binding, other, fine)[0].endswith("cannot change roleRef")


def test_endpoint_slices() -> None:
    entry = kind("EndpointSlice", "discovery.k8s.io")
    fine = {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]}
    assert problems(entry, fine) == []
    assert problems(entry, {**fine, "endpoints": [{"addresses": ["fd00::1"]}]}) == [
        'endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address'
    ]
    many = {**fine, "endpoints": [{"addresses": ["10.0.0.1"]}] * 1001}
    assert problems(entry, many) == ["endpoints: Too many: 1001: must have at most 1000 items"]


def test_network_policies() -> None:
    entry = kind("NetworkPolicy", "networking.k8s.io")
    block = {"cidr": "10.0.0.0/8", "except": ["192.168.0.0/16"]}
    spec = {"podSelector": {}, "ingress": [{"from": [{"ipBlock": block}, {}]}]}
    assert problems(entry, {"spec": spec}) == [
        'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "192.168.0.0/16": must be a '
        "strict subset of `cidr`",
        "spec.ingress[0].from[1]: Required value: must specify a peer",
    ]


def test_every_kind_survives_an_empty_object() -> None:
    for entry in KINDS.all():
        obj = complete(entry, {})
        assert isinstance(validate_create(entry, obj), list)
        assert isinstance(validate_update(entry, {**obj, "spec": {}}, obj), list)
