"""What kubectl can do, by the oldest and the newest one, on a Linux and on a Windows pod.

The commands and what they have to print are a table: tests/data/kubectl/breadth.txt.
"""

import base64
import dataclasses
import itertools
import json
import re
import shlex
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.e2e.harness import Cluster, eventually, find_kubectls, run

pytestmark = pytest.mark.root

WORDS = {
    "busybox": "winkube.local/busybox",
    "servercore": "mcr.microsoft.com/windows/servercore:ltsc2019",
}
ROW = re.compile(r"(?:(?P<since>\d+)> )?(?P<fails>! )?(?P<command>.*?)(?: => (?P<says>.*))?$")

TABLE = Path(__file__).parents[2] / "data" / "kubectl" / "breadth.txt"


def read_topics() -> dict[str, list[str]]:
    topics: dict[str, list[str]] = {}
    rows: list[str] = []
    for line in TABLE.read_text().splitlines():
        if line.startswith("["):
            rows = topics[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            rows.append(line)
    return topics


PARTS = read_topics()
TOPICS = [name for name in PARTS if not name.startswith("+")]


@dataclasses.dataclass(frozen=True)
class Desk:
    """One kubectl, its namespace and its files."""

    cluster: Cluster
    minor: int
    namespace: str
    folder: Path

    def argv(self, command: str) -> list[str]:
        allow = "--prune-allowlist" if self.minor >= 26 else "--prune-whitelist"
        text = command.replace("{allow}", allow).replace("{ns}", self.namespace)
        text = text.replace("{v}", str(self.minor)).replace("{dir}", str(self.folder))
        words = shlex.split(text)
        named = [re.sub(r"(?<==)(busybox|servercore)\b", lambda m: WORDS[m[1]], w) for w in words]
        return [str(self.cluster.program), *self._placed(named)]

    def _placed(self, words: list[str]) -> list[str]:
        own = [] if "-n" in words or words[0] in ("config", "version") else ["-n", self.namespace]
        return [words[0], *own, *words[1:]]

    def play(self, part: str) -> list[str]:
        """What is wrong with the rows of that part of the table, and of those it needs."""
        problems = []
        for line in PARTS[part]:
            if line.startswith("needs "):
                problems += [each for name in line.split()[1:] for each in self.play(f"+{name}")]
            else:
                problems += self._judge(line)
        return problems

    def prepare(self, *needs: str) -> None:
        problems = [each for name in needs for each in self.play(f"+{name}")]
        assert not problems, "\n".join(problems)

    def _judge(self, line: str) -> list[str]:
        row = ROW.match(line)
        assert row is not None
        if row["since"] and self.minor < int(row["since"]):
            return []
        done = self(row["command"])
        said = done.stdout + done.stderr
        if bool(done.returncode) != bool(row["fails"]):
            return [f"{row['command']}: exit code {done.returncode}: {said}"]
        if row["says"] and not re.search(row["says"], said, re.MULTILINE):
            return [f"{row['command']}: {row['says']!r} is not in: {said}"]
        return []

    def __call__(self, command: str) -> subprocess.CompletedProcess[str]:
        env = self.cluster.environment()
        return run(self.argv(command), env, check=False, stdin="typed\n", timeout=90)


def desk_names() -> list[Path]:
    found = find_kubectls()
    return found[:1] + found[1:][-1:]


@pytest.fixture(scope="module", params=desk_names(), ids=lambda path: path.name)
def shelf(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Desk:
    """The desk of one kubectl, before anything has a namespace."""
    own = dataclasses.replace(cluster, program=request.param)
    version = json.loads(own.kubectl("version", "--client", "-o", "json").stdout)
    minor = int(re.sub(r"\D", "", version["clientVersion"]["minor"]))
    folder = tmp_path_factory.mktemp("desk")
    write_files(folder, minor)
    return Desk(own, minor, "", folder)


NUMBERS = itertools.count(1)


@pytest.fixture
def desk(shelf: Desk) -> Iterator[Desk]:
    made = dataclasses.replace(shelf, namespace=f"breadth-{shelf.minor}-{next(NUMBERS)}")
    write_role(made.folder, made.namespace)
    made.cluster.kubectl("create", "namespace", made.namespace)
    try:
        yield made
    finally:
        made.cluster.kubectl("delete", "namespace", made.namespace, "--wait=false")


def write_files(folder: Path, minor: int) -> None:
    def config_map(name: str, **more: object) -> str:
        labels = {"prune": "me"}
        metadata = {"name": name, "labels": labels}
        return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more})

    one, changed = config_map("p1", data={"a": "1"}), config_map("p1", data={"a": "2"})
    other = config_map("p2")
    (folder / "one.yaml").write_text(one)
    both = {"apiVersion": "v1", "kind": "List", "items": [json.loads(one), json.loads(other)]}
    (folder / "two.yaml").write_text(json.dumps(both))
    (folder / "changed.yaml").write_text(changed)
    (folder / "bad.yaml").write_text(config_map("p1", dta={"a": "1"}))
    (folder / "kustomized").mkdir()
    (folder / "kustomized" / "kustomization.yaml").write_text("resources: [c.yaml]\nnamePrefix: k-")
    (folder / "kustomized" / "c.yaml").write_text(config_map("c"))
    (folder / "iis.yaml").write_text(windows_deployment("one"))
    (folder / "iis-changed.yaml").write_text(windows_deployment("two"))
    write_keys(folder, f"breadth-{minor}")


def windows_deployment(which: str) -> str:
    image = f"{WORDS['servercore'].partition(':')[0]}/iis:windowsservercore-ltsc2019"
    container = {"name": "iis", "image": image, "env": [{"name": "WHICH", "value": which}]}
    # Old pods are gone at once: exec of a Deployment would choose one that is about to end.
    spec = {
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "containers": [container],
    }
    labels = {"app": "iis"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    deployment = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "iis"}}
    return json.dumps({**made, "spec": deployment})


def write_role(folder: Path, namespace: str) -> None:
    """The one file that has to name its namespace: ``auth reconcile`` puts nothing into any."""
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": [rule]}
    metadata = {"name": "reconciled", "namespace": namespace}
    (folder / "role.yaml").write_text(json.dumps({**role, "metadata": metadata}))


def write_keys(folder: Path, name: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jane")])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    pem = request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    spec = {
        "request": base64.b64encode(pem).decode(),
        "signerName": "kubernetes.io/kube-apiserver-client",
        "usages": ["client auth"],
    }
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    (folder / "csr.yaml").write_text(json.dumps({**kind, "metadata": {"name": name}, "spec": spec}))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=t",
         "-keyout", folder / "tls.key", "-out", folder / "tls.crt"],
        check=True, capture_output=True,
    )  # fmt: skip


@pytest.mark.parametrize("topic", TOPICS)
def test_commands_do_what_they_do_on_any_cluster(desk: Desk, topic: str) -> None:
    problems = desk.play(topic)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("pod", "program"), [("lin", "sleep 100"), ("win", "ping -t localhost")], ids=["lin", "win"]
)
def test_debug_puts_a_container_into_a_running_pod(desk: Desk, pod: str, program: str) -> None:
    if desk.minor < 23:
        pytest.skip("this kubectl speaks of ephemeral containers in a way long gone")
    desk.prepare(pod)
    image = WORDS["busybox" if pod == "lin" else "servercore"]
    done = desk(f"debug {pod} --image={image} -c tool --target={pod} -- {program}")
    assert done.returncode == 0, done.stderr

    def status() -> dict[str, object]:
        found = json.loads(desk(f"get pod {pod} -o json").stdout)
        [entry] = found["status"]["ephemeralContainerStatuses"]
        assert "running" in entry["state"], entry
        return dict(entry)

    entry = eventually(status, seconds=30)
    assert (entry["ready"], "started" in entry) == (False, False)
    word = "sh -c" if pod == "lin" else "cmd /c"
    assert "inside" in desk(f"exec {pod} -c tool -- {word} 'echo inside'").stdout
    assert "tool:" in desk(f"describe pod {pod}").stdout


def test_edit_writes_back_what_the_editor_leaves(desk: Desk) -> None:
    desk("create configmap edited --from-literal=key=before")
    for editor, expected in (("sed -i s/before/after/", "edited"), ("true", "no changes made")):
        environment = {**desk.cluster.environment(), "KUBE_EDITOR": editor}
        done = run(desk.argv("edit configmap edited"), environment, check=False)
        assert expected in done.stdout + done.stderr
    assert desk("get cm edited -o jsonpath={.data.key}").stdout == "after"


def test_edit_changes_a_windows_deployment(desk: Desk) -> None:
    desk.prepare("iis")
    environment = {**desk.cluster.environment(), "KUBE_EDITOR": "sed -i 's/value: one/value: two/'"}
    run(desk.argv("edit deploy iis"), environment)
    assert desk("rollout status deploy/iis --timeout=90s").returncode == 0
    said = eventually(lambda: desk("exec deploy/iis -- cmd /c echo %WHICH%").stdout)
    assert said.strip() == "two"


def test_ports_of_deployments_and_services_are_forwarded(desk: Desk) -> None:
    desk.prepare("web")
    desk("expose deploy/web --port=8080 --target-port=80 --name=forwarded")
    for target, port in (("deploy/web", 80), ("svc/forwarded", 8080)):
        process = subprocess.Popen(
            desk.argv(f"port-forward {target} :{port}"),
            env=desk.cluster.environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            found = re.search(r"127\.0\.0\.1:(\d+) -> 80", process.stdout.readline())
            assert found is not None
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/nothing", timeout=10)
        finally:
            process.kill()
            process.communicate()


def test_attach_joins_the_output_of_a_windows_pod(desk: Desk) -> None:
    desk.prepare("win")
    process = subprocess.Popen(
        desk.argv("attach win -c win"),
        env=desk.cluster.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert "TTL=" in process.stdout.readline()
    finally:
        process.kill()
        process.communicate()
