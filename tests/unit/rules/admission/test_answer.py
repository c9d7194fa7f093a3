from typing import Any

import pytest

from winkube.api.patch import json_patch
from winkube.rules.admission.answer import Opinion, Question, WindowsAdmission, is_person
from winkube.rules.admission.cluster import Cluster, FixedWorld, Taint, gather
from winkube.rules.admission.judge import Judge, Verdict
from winkube.rules.admission.mode import LABEL, MODES, mode_of
from winkube.rules.target import parse_target

TAINT: Taint = ("os", "windows", "NoSchedule")
PERSON, CONTROLLER = "jane", "system:serviceaccount:kube-system:replicaset-controller"
BAD = {"privileged": True}
NANOSERVER = "mcr.microsoft.com/windows/nanoserver:ltsc2019"
WINDOWS = {"kubernetes.io/os": "windows"}


def admission(*builds: str, **fields: Any) -> WindowsAdmission:
    targets = tuple(parse_target("1.34", build) for build in builds or ("ws2019",))
    cluster = Cluster(targets, fields.pop("taints", (TAINT,)), **fields)
    classes = {"wcow": {"metadata": {"name": "wcow"}, "handler": "runhcs-wcow-process"}}
    return WindowsAdmission(FixedWorld(cluster, classes))


def pod(image: str = "app:1", *, context: Any = None, **spec: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "app", "image": image}
    if context is not None:
        container["securityContext"] = context
    return {"metadata": {"name": "web"}, "spec": {"containers": [container], **spec}}


def declared(**spec: Any) -> dict[str, Any]:
    return pod(os={"name": "windows"}, nodeSelector=WINDOWS, **spec)


def template(kind: str, inner: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": "d"}, "spec": {"template": inner}}


def ask(
    rules: WindowsAdmission,
    obj: dict[str, Any],
    mode: str = "warn",
    *,
    user: str = PERSON,
    resource: str = "pods",
    operation: str = "CREATE",
    old: Any = None,
    subresource: str = "",
) -> Opinion:
    question = Question(operation, resource, user, obj, old, subresource)
    return rules.opinion(question, MODES[mode])


def ids(opinion: Opinion) -> list[str]:
    return [line.partition(":")[0] for line in opinion.warnings]


def changed(
    rules: WindowsAdmission, obj: dict[str, Any], *, resource: str = "pods", **said: Any
) -> Any:
    question = Question(said.pop("operation", "CREATE"), resource, said.pop("user", PERSON), obj)
    return json_patch(obj, list(rules.changes(question)))


def test_who_writes_a_windows_pod_is_told_what_windows_ignores() -> None:
    opinion = ask(admission(), pod(context=BAD, nodeSelector=WINDOWS))
    assert opinion == Opinion(
        (
            "WIN-SEC-034: privileged has no effect on Windows "
            "(spec.containers[0].securityContext.privileged). "
            "Use a HostProcess container (1.22 alpha, 1.26 stable).",
        )
    )


@pytest.mark.parametrize(
    ("user", "reads"),
    [
        ("jane", True),
        ("system:serviceaccount:ci:deployer", True),
        ("system:admin", True),
        ("system:serviceaccount:kube-system:job-controller", False),
        ("system:kube-controller-manager", False),
        ("system:node:win-1", False),
        ("system:apiserver", False),
    ],
)
def test_parts_of_the_system_are_told_nothing(user: str, reads: bool) -> None:
    assert is_person(user) is reads
    assert (
        bool(ask(admission(), pod(context=BAD, nodeSelector=WINDOWS), user=user).warnings) is reads
    )


def test_nothing_is_said_about_what_a_controller_owns() -> None:
    owned = pod(context=BAD, nodeSelector=WINDOWS)
    owned["metadata"]["ownerReferences"] = [{"controller": True}]
    assert ask(admission(), owned) == Opinion()
    # But a pod that is refused is refused to everybody: controllers make most pods.
    unpinned = pod(os={"name": "windows"})
    unpinned["metadata"]["ownerReferences"] = [{"controller": True}]
    refusal = ask(admission(), unpinned, "enforce", user=CONTROLLER).refusal
    assert refusal.startswith("the Windows rules refuse it: WIN-SCHED-001: Nothing keeps")


def test_an_owned_template_is_its_owners() -> None:
    replica_set = template("ReplicaSet", pod(os={"name": "windows"}))
    replica_set["metadata"]["ownerReferences"] = [{"controller": True}]
    opinion = ask(admission(), replica_set, "enforce", resource="replicasets.apps", user=CONTROLLER)
    assert opinion == Opinion()


def test_nothing_is_said_about_linux_pods() -> None:
    assert ask(admission(), pod("nginx", context=BAD), "enforce") == Opinion()
    assert ask(admission(), pod(context=BAD), "enforce") == Opinion()


def test_a_cluster_without_windows_nodes_is_silent_unless_a_namespace_is_strict() -> None:
    rules = WindowsAdmission(FixedWorld(gather([], "1.34"), {}))
    unpinned = pod(os={"name": "windows"})
    assert ask(rules, unpinned) == Opinion()
    assert "WIN-SCHED-001" in ask(rules, unpinned, "enforce").refusal
    assert changed(rules, unpinned)["spec"]["nodeSelector"] == WINDOWS


def test_at_most_a_handful_and_one_line_per_rule() -> None:
    many = pod(
        context={
            "privileged": True,
            "runAsUser": 1,
            "runAsGroup": 1,
            "capabilities": {},
            "seLinuxOptions": {},
            "procMount": "Default",
        },
        nodeSelector=WINDOWS,
        hostPID=True,
        hostIPC=True,
    )
    many["spec"]["containers"].append({**many["spec"]["containers"][0], "name": "b"})
    lines = ask(admission(), many).warnings
    assert len(lines) == 6
    assert lines[-1].endswith(" more remarks of the Windows rules; winkube lint shows all")
    twice = ask(admission(), {**many, "spec": {**many["spec"], "hostPID": False}})
    assert len(ids(twice)) == len(set(ids(twice)))


def test_errors_come_first() -> None:
    unpinned = pod("mcr.microsoft.com/windows/servercore:ltsc2019", context=BAD)
    assert ids(ask(admission(), unpinned)) == ["WIN-SCHED-001", "WIN-SEC-034"]


def test_the_taint_is_worth_a_word_only_where_all_windows_nodes_have_it() -> None:
    assert ids(ask(admission(is_tainted=True), declared())) == ["WIN-SCHED-006"]
    assert ids(ask(admission(is_tainted=False), declared())) == []
    own = admission(is_tainted=True, taints=(("pool", "windows", "NoSchedule"),))
    assert ids(ask(own, declared())) == ["WIN-SCHED-006"]
    tolerant = declared(tolerations=[{"key": "pool", "operator": "Exists"}])
    assert ids(ask(own, tolerant)) == []


def test_what_fails_on_some_nodes_only_is_told_and_not_refused() -> None:
    rules = admission("ws2019", "ws2022")
    image = "mcr.microsoft.com/windows/servercore:ltsc2022"
    opinion = ask(rules, pod(image, nodeSelector=WINDOWS), "enforce")
    assert not opinion.refusal
    assert "on 1.34/ws2019" in opinion.warnings[0]
    chosen = {**WINDOWS, "node.kubernetes.io/windows-build": "10.0.20348"}
    assert ask(rules, pod(image, nodeSelector=chosen), "enforce") == Opinion()
    other = {**WINDOWS, "node.kubernetes.io/windows-build": "10.0.17763"}
    assert "WIN-IMG-001" in ask(rules, pod(image, nodeSelector=other), "enforce").refusal


def test_a_template_is_judged_when_it_is_new_or_changes() -> None:
    rules, resource = admission(), "deployments.apps"
    bad = template("Deployment", pod(context=BAD, nodeSelector=WINDOWS))
    assert ask(rules, bad, resource=resource).warnings
    assert not ask(rules, bad, resource=resource, operation="UPDATE", old=bad).warnings
    good = template("Deployment", pod(nodeSelector=WINDOWS))
    assert ask(rules, bad, resource=resource, operation="UPDATE", old=good).warnings
    assert not ask(rules, bad, resource=resource, subresource="scale").warnings
    assert not ask(rules, bad, resource=resource, operation="DELETE").warnings


def test_a_kind_that_is_not_the_resources_is_not_looked_at() -> None:
    odd = template("Gateway", pod(context=BAD, nodeSelector=WINDOWS))
    assert ask(admission(), odd, resource="deployments.apps") == Opinion()


def test_a_pod_is_placed_by_additions_alone() -> None:
    placed = changed(admission(), pod(NANOSERVER))["spec"]
    assert placed["nodeSelector"] == WINDOWS
    assert placed["os"] == {"name": "windows"}
    assert placed["tolerations"] == [
        {"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule"}
    ]
    assert ask(admission(is_tainted=True), {"metadata": {}, "spec": placed}, "enforce") == Opinion()
    own = {"key": "gpu", "operator": "Exists"}
    placed = changed(admission(), declared(tolerations=[own]))["spec"]
    assert placed["tolerations"][0] == own
    assert len(placed["tolerations"]) == 2


@pytest.mark.parametrize(
    "kept",
    [
        pod("nginx"),
        pod(),
        pod(NANOSERVER, nodeName="win-1"),
        pod(NANOSERVER, nodeSelector={"kubernetes.io/os": "linux"}),
        pod("nginx", os={"name": "windows"}),
        pod(os={"name": "windows"}, nodeSelector={"kubernetes.io/os": "linux"}),
        declared(tolerations=[{"operator": "Exists"}]),
        declared(tolerations=[{"key": "os", "operator": "Exists"}]),
    ],
)
def test_what_is_not_surely_for_windows_or_complete_stays_as_it_is(kept: dict[str, Any]) -> None:
    assert changed(admission(), kept) == kept


def test_another_pin_is_enough() -> None:
    expression = {"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    for pinned in (pod(affinity=affinity), pod(runtimeClassName="wcow")):
        placed = changed(admission(), pinned)["spec"]
        assert "nodeSelector" not in placed
        assert placed["os"] == {"name": "windows"}


def test_spec_os_is_not_added_where_the_api_server_would_then_refuse_the_pod() -> None:
    placed = changed(admission(), pod(context=BAD, nodeSelector=WINDOWS))["spec"]
    assert "os" not in placed
    assert placed["tolerations"]


def test_templates_stay_as_written_but_a_daemon_sets_decides_nodes() -> None:
    inner = pod(NANOSERVER)
    deployment, daemons = template("Deployment", inner), template("DaemonSet", inner)
    assert changed(admission(), deployment, resource="deployments.apps") == deployment
    placed = changed(admission(), daemons, resource="daemonsets.apps")
    assert placed["spec"]["template"]["spec"]["nodeSelector"] == WINDOWS
    kept = changed(admission(), daemons, resource="daemonsets.apps", user=CONTROLLER)
    assert kept == daemons


def test_a_template_whose_pods_will_be_placed_is_not_called_unplaced() -> None:
    deployment = template("Deployment", pod(NANOSERVER))
    rules, resource = admission(is_tainted=True), "deployments.apps"
    assert ids(ask(rules, deployment, resource=resource)) == ["WIN-SCHED-001", "WIN-SCHED-006"]
    assert ask(rules, deployment, "mutate-enforce", resource=resource) == Opinion()


def test_static_pods_are_left_to_their_kubelet() -> None:
    mirror = pod(os={"name": "windows"})
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    user = "system:node:win-1"
    assert ask(admission(), mirror, "enforce", user=user) == Opinion()
    assert changed(admission(), mirror, user=user) == mirror


def test_the_mode_of_a_namespace() -> None:
    assert mode_of("x", {}).name == "warn"
    assert mode_of("x", {LABEL: "enforce"}).enforces
    assert mode_of("x", {LABEL: "huh"}).name == "warn"
    assert mode_of("kube-system", {LABEL: "enforce"}).name == "off"
    assert not ask(admission(), pod(context=BAD, nodeSelector=WINDOWS), "off").warnings


def test_answers_do_not_depend_on_what_was_asked_before() -> None:
    """The memory holds templates, not names: but annotations and classes count."""
    rules = admission()
    bad = pod(context=BAD, nodeSelector=WINDOWS)
    assert ask(rules, bad) == ask(rules, bad)
    quiet = {**bad, "metadata": {"annotations": {"winkube.dev/lint-ignore": "WIN-SEC-034"}}}
    assert ask(rules, quiet) == Opinion()
    other = {**bad, "metadata": {"name": "other"}}
    assert ask(rules, other) == ask(rules, bad)


def test_pods_of_one_template_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[object] = []
    honest = Judge.judge

    def counting(judge: Judge, *asked: Any) -> Verdict:
        judged.append(asked)
        return honest(judge, *asked)

    # Nothing else shows whether an answer was remembered.
    monkeypatch.setattr(Judge, "judge", counting)
    rules = admission()
    for index in range(3):
        each = pod(context=BAD, nodeSelector=WINDOWS)
        token = f"kube-api-access-{index}"
        each["metadata"] = {"name": f"web-{index}", "labels": {"index": str(index)}}
        each["spec"]["volumes"] = [{"name": token, "projected": {"sources": []}}]
        each["spec"]["containers"][0]["volumeMounts"] = [{"name": token, "mountPath": "/x"}]
        assert ids(ask(rules, each)) == ["WIN-SEC-034"]
    assert len(judged) == 1


@pytest.mark.parametrize(
    "chosen",
    [{"nodeName": "win-1"}, {"nodeSelector": {"kubernetes.io/hostname": "win-1"}}],
    ids=["by the API", "by the scheduler"],
)
def test_who_names_the_node_is_not_told_to_choose_windows(chosen: dict[str, Any]) -> None:
    assert ask(admission(), pod(os={"name": "windows"}, **chosen)) == Opinion()
