"""The Windows rules say and do the same as our server's step and as upstream's webhook."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.harness import find_kubectls
from tests.upstream.cases.windows_rules import GATED, refused_rules
from tests.upstream.exchange import APPLY, MERGE, conversation, normalise
from tests.upstream.recorded import read_answers
from tests.upstream.windows_stage import NODE, Hook, Stage, configure, stage

from winkube.rules.admission.mode import LABEL, MODES
from winkube.testing.planes import upstream_folder

SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2019"
LABELS = {"app": "web"}
WINDOWS = {"kubernetes.io/os": "windows"}


def container(image: str = SERVERCORE, **fields: Any) -> dict[str, Any]:
    return {"name": "app", "image": image, **fields}


def pod(name: str, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, **spec.pop("metadata", {})}
    return {"metadata": metadata, "spec": {"containers": list(containers), **spec}}


def workload(kind: str, name: str, spec: dict[str, Any], **fields: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": spec}
    body: dict[str, Any] = {"template": template, **fields}
    if kind in ("Deployment", "DaemonSet", "ReplicaSet"):
        body["selector"] = {"matchLabels": LABELS}
    if kind == "CronJob":
        body = {"schedule": "* * * * *", "jobTemplate": {"spec": body}}
    return {"kind": kind, "metadata": {"name": name}, "spec": body}


_IGNORED = {"privileged": True, "runAsUser": 5, "readOnlyRootFilesystem": True}
_PLAIN = {"containers": [container()]}
_LINUXISH = {"containers": [container(securityContext=_IGNORED)]}
OBJECTS: dict[str, dict[str, Any]] = {
    "a good pod": pod(
        "good", container(), nodeSelector=WINDOWS, tolerations=[{"operator": "Exists"}]
    ),
    "by its image alone": pod("image", container()),
    "declared": pod("declared", container("app:1"), os={"name": "windows"}),
    "declared, with tolerations": pod(
        "tolerant",
        container("app:1"),
        os={"name": "windows"},
        tolerations=[{"key": "gpu", "operator": "Exists"}],
        nodeSelector={"disk": "ssd"},
    ),
    "what Windows ignores": pod("ignored", container(securityContext=_IGNORED)),
    "the image of another build": pod(
        "build", container("mcr.microsoft.com/windows/servercore:ltsc2022"), nodeSelector=WINDOWS
    ),
    "many things": pod(
        "many",
        container(
            securityContext={
                **_IGNORED,
                "capabilities": {"add": ["NET_ADMIN"]},
                "seccompProfile": {"type": "RuntimeDefault"},
                "seLinuxOptions": {"level": "s0"},
            }
        ),
        hostPID=True,
        hostIPC=True,
        volumes=[{"name": "c", "configMap": {"name": "c"}}],
    ),
    "defaults are nobody's words": pod(
        "defaults",
        container(),
        nodeSelector=WINDOWS,
        tolerations=[{"operator": "Exists"}],
        volumes=[{"name": "c", "configMap": {"name": "c"}}, {"name": "s", "secret": {}}],
    ),
    "not to be told": pod(
        "quiet",
        container(securityContext={"privileged": True}),
        metadata={"annotations": {"winkube.dev/lint-ignore": "WIN-SEC-* WIN-SCHED-*"}},
    ),
    "of a RuntimeClass": pod("class", container("app:1"), runtimeClassName="wcow"),
    "of two systems": pod("both", container(), nodeSelector={"kubernetes.io/os": "linux"}),
    "mixed images": pod("mixed", container(), {**container("nginx"), "name": "side"}),
    "of Linux": pod("linux", container("nginx", securityContext=_IGNORED)),
    "owned": pod(
        "owned",
        container(securityContext={"privileged": True}),
        metadata={
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u", "controller": True}
            ]
        },
    ),
    "a Deployment": workload("Deployment", "d", _LINUXISH),
    "a DaemonSet": workload("DaemonSet", "ds", _PLAIN),
    "a Job": workload("Job", "j", {**_PLAIN, "restartPolicy": "Never"}),
    "a CronJob": workload("CronJob", "c", {**_LINUXISH, "restartPolicy": "Never"}),
    "a ReplicationController": workload("ReplicationController", "rc", _LINUXISH, selector=LABELS),
}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage("winkube", tmp_path_factory.mktemp("ours"), asks=False) as found:
        yield found


@pytest.fixture(scope="module", params=["upstream", "winkube"])
def asking(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An API server that asks the webhook; in ours the step is there too, and says it first."""
    if request.param == "upstream" and upstream_folder() is None:
        pytest.skip("not built (`make upstream`)")
    with stage(request.param, tmp_path_factory.mktemp("asking"), asks=True) as found:
        space = found.space("first", None)
        probe = pod("probe", container())
        found.until("a warning", lambda: found.create(space, probe, "?dryRun=All").warnings)
        yield found


def told(found: Stage, space: str, body: dict[str, Any]) -> dict[str, Any]:
    """What is compared: the code, the warnings, the refusal, what admission added."""
    answer = found.create(space, body, "?dryRun=All")
    said: dict[str, Any] = {"status": answer.status, "warnings": sorted(answer.warnings)}
    if answer.status >= 400:
        said["message"] = re.sub(r"^.*?(?=the Windows rules)", "", answer.body["message"])
        return said
    spec = answer.body["spec"]
    while "template" in spec or "jobTemplate" in spec:
        spec = (spec.get("jobTemplate") or spec.get("template"))["spec"]
    said["added"] = {name: spec.get(name) for name in ("os", "nodeSelector", "tolerations")}
    managers = normalise(answer.body["metadata"]["managedFields"], space)
    said["managers"] = sorted(json.dumps(each, sort_keys=True) for each in managers)
    return said


MODES_AND_NONE = [None, *MODES, "unheard-of"]


@pytest.mark.parametrize("name", OBJECTS)
def test_the_webhook_says_what_our_server_says(ours: Stage, asking: Stage, name: str) -> None:
    for mode in MODES_AND_NONE:
        for found in (ours, asking):
            found.space(f"of-{mode or 'nobody'}".lower(), mode)
        space = f"of-{mode or 'nobody'}".lower()
        body = OBJECTS[name]
        assert told(asking, space, body) == told(ours, space, body), f"mode {mode}"


def test_kube_system_is_left_alone(ours: Stage, asking: Stage) -> None:
    for found in (ours, asking):
        account = {"metadata": {"name": "default"}}
        found.talk.ask("POST", "/api/v1/namespaces/kube-system/serviceaccounts", account)
        assert told(found, "kube-system", OBJECTS["many things"])["warnings"] == []


def test_an_unknown_word_is_told(ours: Stage, asking: Stage) -> None:
    for found in (ours, asking):
        path = f"/api/v1/namespaces/{found.space('odd', None)}"
        body = {"metadata": {"labels": {LABEL: "enforced"}}}
        answer = found.talk.ask("PATCH", f"{path}?dryRun=All", body, type=MERGE)
        assert answer.status == 200
        assert answer.warnings == (
            f"299 - \"label {LABEL}: 'enforced' is none of off, warn, mutate, enforce, "
            'mutate-enforce; the rules only warn"',
        )


def test_a_template_is_judged_when_it_changes(ours: Stage, asking: Stage) -> None:
    for found in (ours, asking):
        space = found.space(f"changes-{asking.plane.make}", "enforce")
        path = f"/apis/apps/v1/namespaces/{space}/deployments/d"
        good = {**_PLAIN, "nodeSelector": WINDOWS, "tolerations": [{"operator": "Exists"}]}
        made = found.create(space, workload("Deployment", "d", good))
        assert (made.status, made.warnings) == (201, ())
        scaled = found.talk.ask("PATCH", path, {"spec": {"replicas": 3}}, type=MERGE)
        assert (scaled.status, scaled.warnings) == (200, ())
        template = {"spec": {"nodeSelector": None}}
        refused = found.talk.ask("PATCH", path, {"spec": {"template": template}}, type=MERGE)
        assert refused.status == 403
        assert "WIN-SCHED-001" in refused.body["message"]
        # What is there already stays changeable when a namespace becomes strict.
        loose = found.space(f"loose-{asking.plane.make}", None)
        path = f"/apis/apps/v1/namespaces/{loose}/deployments/d"
        assert found.create(loose, workload("Deployment", "d", _PLAIN)).warnings
        again = found.talk.ask("PATCH", path, {"spec": {"replicas": 0}}, type=MERGE)
        assert (again.status, again.warnings) == (200, ())


@pytest.mark.skipif(not find_kubectls(), reason="no kubectl")
def test_kubectl_shows_the_warnings_of_the_webhook(asking: Stage) -> None:
    space = asking.space("kubectl", None)
    body = {"apiVersion": "v1", "kind": "Pod", **OBJECTS["what Windows ignores"]}
    command = [str(find_kubectls()[-1]), f"--kubeconfig={asking.plane.kubeconfig()}"]
    command += ["create", f"--namespace={space}", "-f", "-"]
    said = subprocess.run(
        command, input=json.dumps(body), capture_output=True, text=True, check=True
    )
    assert said.stdout == "pod/ignored created\n"
    assert "Warning: WIN-SEC-034: privileged has no effect on Windows" in said.stderr
    assert "Warning: WIN-SCHED-001: Nothing keeps this Windows pod" in said.stderr


@pytest.mark.skipif(not find_kubectls(), reason="no kubectl")
def test_a_deployment_may_read_what_it_needs(asking: Stage, tmp_path: Path) -> None:
    """The objects of ``--image`` are taken, and their service account can follow the nodes."""
    command = [sys.executable, "-m", "winkube", "webhook", "manifests", "--image=winkube:1"]
    command += ["--namespace=hooks"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # Configurations of webhooks that nobody answers stay out: the tests beside us would wait.
    objects = made.partition("apiVersion: admissionregistration")[0]
    kubectl(asking, "apply", "-f", "-", stdin=objects)
    renamed = made.replace("name: winkube-webhook\n", "name: other\n")
    kubectl(asking, "apply", "--dry-run=server", "-f", "-", stdin=renamed)
    token = kubectl(asking, "create", "token", "winkube-webhook", "-n", "hooks").strip()
    config = yaml.safe_load(asking.plane.kubeconfig().read_text())
    config["users"][0]["user"] = {"token": token}
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    hook = Hook(asking.plane)
    hook.manifests()
    hook.start(tmp_path / "config")
    hook.stop()


def kubectl(found: Stage, *words: str, stdin: str = "") -> str:
    command = [str(find_kubectls()[-1]), f"--kubeconfig={found.plane.kubeconfig()}", *words]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_applied_is_placed_alike(ours: Stage, asking: Stage) -> None:
    """Fields that admission adds to what a manager applies are told the same way."""
    said = []
    for found in (ours, asking):
        space = found.space(f"applied-{asking.plane.make}", "mutate")
        path = f"/api/v1/namespaces/{space}/pods/applied?fieldManager=me&force=true"
        body = {"apiVersion": "v1", "kind": "Pod", **pod("applied", container())}
        for _ in range(2):
            answer = found.talk.ask("PATCH", path, json.dumps(body), type=APPLY)
            spec, managers = answer.body["spec"], answer.body["metadata"]["managedFields"]
            added = {name: spec.get(name) for name in ("os", "nodeSelector", "tolerations")}
            said.append((answer.status, added, normalise(managers, space), answer.warnings))
    assert said[:2] == said[2:]
    assert [answer[0] for answer in said[:2]] == [201, 200]
    assert said[0][1]["nodeSelector"] == WINDOWS


def reviews(found: Stage) -> float:
    assert found.hook is not None
    text = found.hook.get("/metrics")[1]
    counts = re.findall(r"^winkube_webhook_reviews_total.* (\S+)$", text, re.MULTILINE)
    return sum(float(count) for count in counts)


def test_upstream_need_not_ask_where_nobody_reads_warnings(asking: Stage) -> None:
    """Conditions are in CEL, which our own server does not know."""
    if asking.plane.make != "upstream":
        pytest.skip("needs CEL")
    hook, space = asking.hook, asking.space("conditions", None)
    assert hook is not None
    keys, port = asking.plane.keys, asking.plane.port
    robot = keys.client(port, keys.issue("system:kube-controller-manager", ("system:masters",)))
    with conversation(robot) as talk:
        machine = Stage(asking.plane, talk, hook)
        machine.until("no question", lambda: _costs_nothing(asking, machine, space))
    probe = pod("probe", container())
    assert asking.create(space, probe, "?dryRun=All").warnings
    before = reviews(asking)
    assert asking.create(space, OBJECTS["owned"], "?dryRun=All").warnings == ()
    assert reviews(asking) == before
    configure(asking.talk, [_without_conditions(each) for each in hook.manifests()])


def _without_conditions(document: dict[str, Any]) -> dict[str, Any]:
    hooks = [{**hook, "matchConditions": None} for hook in document["webhooks"]]
    return {**document, "webhooks": hooks}


def _costs_nothing(asking: Stage, machine: Stage, space: str) -> bool:
    assert asking.hook is not None
    configure(asking.talk, asking.hook.manifests("--match-conditions"))
    before = reviews(asking)
    answer = machine.create(space, pod("probe", container()), "?dryRun=All")
    assert answer.status == 201
    return reviews(asking) == before


def test_a_node_that_comes_is_noticed(asking: Stage) -> None:
    space = asking.space("comes", None)
    body = pod("later", container("mcr.microsoft.com/windows/servercore:ltsc2022"))
    labels = {**NODE["metadata"]["labels"], "node.kubernetes.io/windows-build": "10.0.20348"}
    node = {**NODE, "metadata": {"name": "win-2", "labels": labels}}
    assert asking.talk.ask("POST", "/api/v1/nodes", node).status == 201

    def says(words: str) -> bool:
        return any(words in line for line in asking.create(space, body, "?dryRun=All").warnings)

    try:
        # One of the two can run it.
        asking.until("the new node", lambda: says("on 1.34.0/ws2019/containerd"))
    finally:
        asking.talk.ask("DELETE", "/api/v1/nodes/win-2")
    asking.until("it is gone", lambda: not says("on 1.34.0/ws2019/containerd"))


def test_every_path_was_asked(asking: Stage) -> None:
    """Else the comparisons above compare nothing."""
    assert asking.hook is not None
    for mode in MODES:
        asking.create(asking.space(f"path-{mode}", mode), OBJECTS["a good pod"], "?dryRun=All")
    status, text = asking.hook.get("/metrics")
    assert status == 200
    asked = set(re.findall(r'^winkube_webhook_reviews_total.*path="([^"]+)"', text, re.MULTILINE))
    assert asked == {"/mutate", *(f"/validate/{mode}" for mode in MODES if mode != "off")}


def test_a_webhook_that_is_down(asking: Stage) -> None:
    """Last of this file: it ends the webhook."""
    hook = asking.hook
    assert hook is not None
    space = asking.space("down", None)
    hook.stop()
    probe = pod("probe", container())
    ignored = asking.create(space, probe, "?dryRun=All")
    assert ignored.status == 201
    if asking.plane.make == "upstream":
        assert ignored.warnings == ()
    configure(asking.talk, hook.manifests("--failure-policy=Fail"))
    failing = "Internal error occurred: failed calling webhook"
    asking.until(
        "a refusal",
        lambda: failing in asking.create(space, probe, "?dryRun=All").body.get("message", ""),
    )
    assert (
        asking.talk.ask(
            "POST",
            "/api/v1/namespaces?dryRun=All",
            {"metadata": {"name": "n", "labels": {LABEL: "x"}}},
        ).status
        == 201
    )
    assert asking.create("kube-system", probe, "?dryRun=All").status in (201, 403)
    hook.start()
    asking.until("a warning", lambda: asking.create(space, probe, "?dryRun=All").warnings)


def test_the_record_of_refused_rules() -> None:
    """Nothing that the rules call refused is taken, where no feature gate is in the way."""
    answers = read_answers("windows_rules")
    taken = {
        rule.id
        for rule in refused_rules()
        if any(answer["status"] < 400 for answer in answers[rule.id])
    }
    assert taken == GATED
