import json

from tests.integration.apiserver.conftest import Kubectl, Running
from typer.testing import CliRunner

from winkube.cli.app import app

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: lint-me, namespace: default}
spec:
  selector: {matchLabels: {app: lint-me}}
  template:
    metadata: {labels: {app: lint-me}}
    spec:
      hostPID: true
      nodeSelector: {kubernetes.io/os: windows}
      containers: [{name: a, image: b}]
"""
NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: lint-node
  labels: {kubernetes.io/os: windows, node.kubernetes.io/windows-build: 10.0.17763}
"""


def test_the_objects_of_a_live_cluster_are_checked(server: Running, kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=f"{DEPLOYMENT}---\n{NODE}")
    try:
        options = ["lint", "--cluster", "--kubeconfig", str(server.kubeconfig()), "-o", "json"]
        result = CliRunner().invoke(app, options)
        report = json.loads(result.stdout)
    finally:
        kubectl("delete", "node/lint-node", "deployment/lint-me")
    (finding,) = [
        each
        for each in report["findings"]
        if (each["rule"], each["object"]["name"]) == ("WIN-POD-002", "lint-me")
    ]
    assert finding["path"] == "spec.template.spec.hostPID"
    assert any(target.endswith("/ws2019") for target in report["targets"])
