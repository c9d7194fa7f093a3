"""kubectl, in several versions, is the judge."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: iis, labels: {app: iis}}
spec:
  replicas: 3
  selector: {matchLabels: {app: iis}}
  template:
    metadata: {labels: {app: iis}}
    spec:
      containers:
      - {name: iis, image: microsoft/iis, ports: [{containerPort: 80}]}
"""


def test_apply_creates_configures_and_leaves_alone(
    any_kubectl: "Callable[..., str]", namespace: str
) -> None:
    apply = ("apply", "-n", namespace, "-f", "-")
    assert "created" in any_kubectl(*apply, stdin=DEPLOYMENT)
    assert "unchanged" in any_kubectl(*apply, stdin=DEPLOYMENT)
    changed = DEPLOYMENT.replace("replicas: 3", "replicas: 4")
    assert "configured" in any_kubectl(*apply, stdin=changed)
    seen = any_kubectl(
        "get",
        "deploy",
        "iis",
        "-n",
        namespace,
        "-o",
        "jsonpath={.spec.replicas} {.metadata.generation}",
    )
    assert seen == "4 2"
    any_kubectl("delete", "deploy", "iis", "-n", namespace)


def test_unknown_field_is_refused_with_its_path(
    any_kubectl: "Callable[..., str]", namespace: str
) -> None:
    wrong = DEPLOYMENT.replace("replicas: 3", "replicas: 3\n  replica: 3")
    said = any_kubectl("apply", "-n", namespace, "-f", "-", stdin=wrong, check=False)
    assert 'unknown field "spec.replica"' in said
    assert "strict decoding error" in said


def test_get_prints_the_table_of_the_server(
    any_kubectl: "Callable[..., str]", namespace: str
) -> None:
    any_kubectl("run", "web", "--image=nginx", "-n", namespace)
    lines = any_kubectl("get", "pods", "-n", namespace).splitlines()
    assert lines[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert lines[1].split()[:3] == ["web", "0/1", "Pending"]
    any_kubectl("delete", "pod", "web", "-n", namespace)
    assert "No resources found" in any_kubectl("get", "pods", "-n", namespace, check=False)


def test_explain_reads_the_schema(any_kubectl: "Callable[..., str]") -> None:
    text = any_kubectl("explain", "deployment.spec.replicas")
    assert "Number of desired pods" in text
    assert "<integer>" in text


def test_wait_for_deletion_returns(any_kubectl: "Callable[..., str]", namespace: str) -> None:
    any_kubectl("create", "configmap", "c", "-n", namespace, "--from-literal=a=b")
    any_kubectl("delete", "configmap", "c", "-n", namespace)
    any_kubectl("wait", "--for=delete", "configmap/c", "-n", namespace, "--timeout=5s")
