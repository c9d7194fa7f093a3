"""What kubectl can do, by the oldest and the newest one, on a Linux and on a Windows pod.

Each topic is a table: a command, and what it has to print. ``!`` is a command that has to fail,
``27>`` one that only kubectl 1.27 and later knows. The commands of a topic follow each other in one
namespace; ``{v}`` is kubectl's minor version, for names that are not in a namespace.
"""

import base64
import dataclasses
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

TOPICS = {
    "create": """
        create configmap cm --from-literal=a=b => configmap/cm created
        create secret generic s --from-literal=a=b => secret/s created
        create secret docker-registry dr --docker-server=x --docker-username=u --docker-password=p => created
        create secret tls t --cert={dir}/tls.crt --key={dir}/tls.key => secret/t created
        create serviceaccount robot => serviceaccount/robot created
        create role r --verb=get --resource=pods => role.rbac.authorization.k8s.io/r created
        create rolebinding rb --role=r --serviceaccount={ns}:robot => rolebinding.* created
        create clusterrole breadth-{v} --verb=get --resource=nodes => clusterrole.* created
        create clusterrolebinding breadth-{v} --clusterrole=breadth-{v} --user=jane => created
        create quota q --hard=pods=100 => resourcequota/q created
        create priorityclass breadth-{v} --value=5 --description=x => created
        21> create pdb pdb --selector=app=web --min-available=1 => created
        create ingress ing --rule=a.com/=web:80 => ingress.networking.k8s.io/ing created
        create job j --image=busybox -- echo hi => job.batch/j created
        21> create cronjob cj --image=busybox --schedule="1 1 1 1 *" -- echo hi => cronjob.batch/cj created
        21> create job --from=cronjob/cj again => job.batch/again created
        create service clusterip sc --tcp=80:80 => service/sc created
        create service nodeport snp --tcp=80:80 => service/snp created
        create service loadbalancer slb --tcp=80:80 => service/slb created
        create service externalname sen --external-name=a.com => service/sen created
        ! create configmap cm => configmaps "cm" already exists
        create configmap other --from-literal=a=b --dry-run=server => configmap/other created \\(server dry run\\)
        24> create token robot --duration=20m => ^ey
        24> ! create token robot --duration=1s => TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes
        24> ! create token robot --bound-object-kind Pod --bound-object-name lin => cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name
    """,  # noqa: E501 - a table reads best with one row per line
    "get": """
        get pods lin win => lin +1/1 +Running
        get pods lin -o wide => NOMINATED NODE
        get pods lin -o name => ^pod/lin$
        get pod lin -o jsonpath={.status.containerStatuses[0].image} => ^winkube.local/busybox:latest$
        get pod win -o jsonpath={.status.containerStatuses[0].image} => ^mcr.microsoft.com/windows/servercore:ltsc2019$
        get pods -o custom-columns=N:.metadata.name,S:.status.phase => win +Running
        get pods lin -o go-template={{.metadata.name}} => ^lin$
        get pods --sort-by=.metadata.name -L run => RUN
        get pods -l run=lin --show-labels => run=lin
        get pods --field-selector=spec.nodeName=lin-1 => lin
        get pods --chunk-size=1 => win
        get pods --server-print=false => NAME +AGE
        get pods -A => breadth
        get nodes,ns --no-headers => node/win-1
        21> get pod lin -o yaml --show-managed-fields => name: lin
        24> get deploy web --subresource=scale => NAME +DESIRED +AVAILABLE +AGE
        ! get pods nope => pods "nope" not found
        get pods nope --ignore-not-found => ^$
        get --raw /api/v1/namespaces/{ns}/pods/lin => "kind":"Pod"
        19> get endpoints => Warning: v1 Endpoints is deprecated in v1.33\\+; use discovery.k8s.io/v1 EndpointSlice
        api-resources => certificatesigningrequests +csr
        api-versions => ^apps/v1$
        version => v1.34
        cluster-info => control plane
        explain pod.spec.containers.image => Container image name
        explain deploy --recursive => strategy
        explain hpa --api-version=autoscaling/v1 => configuration of a horizontal pod autoscaler
        ! explain pod.nope => field "nope" does not exist
        config get-contexts => winkube
    """,  # noqa: E501
    "describe": """
        describe pod lin => Started container lin
        describe pod win => Started container win
        describe deploy web => NewReplicaSetAvailable
        describe rs -l app=web => Controlled By: +Deployment/web
        describe node win-1 => Windows Server 2019 Datacenter
        describe node lin-1 => node.alpha.kubernetes.io/ttl: 0
        describe ns {ns} => Status: +Active
        describe svc kubernetes -n default => 443/TCP
        describe secret s => a: +1 bytes
        describe cm cm => a:
        describe sa robot => robot
        describe role r => pods
        describe job j => Completed
        describe csr => No resources found
        describe storageclass => winkube.io/local-path
        ! describe pod nope => pods "nope" not found
    """,
    "change": """
        label pod lin x=y => pod/lin labeled
        ! label pod lin x=z => 'x' already has a value \\(y\\), and --overwrite is false
        label pod lin x- => pod/lin (un)?labeled
        annotate pod lin win d=e => pod/win annotate
        annotate pod lin d- => pod/lin annotate
        patch deploy web -p '{"spec":{"minReadySeconds":0,"paused":false}}' => patched
        patch deploy web --type=merge -p '{"metadata":{"labels":{"m":"1"}}}' => patched
        patch deploy web --type=json -p '[{"op":"remove","path":"/metadata/labels/m"}]' => patched
        ! patch deploy web --type=json -p '[{"op":"remove","path":"/metadata/labels/m"}]' => The request is invalid
        ! patch deploy web -p '{"spec":{"replicas":"x"}}' => int32
        24> patch deploy web --subresource=scale --type=merge -p '{"spec":{"replicas":1}}' => patched
        set image deploy/web busybox=busybox:latest => image updated
        set env deploy/web A=b => env updated
        set env deploy/web --list => A=b
        set env deploy/web --from=configmap/cm --prefix=X_ => env updated
        set resources deploy/web --limits=cpu=200m,memory=64Mi => resource requirements updated
        set serviceaccount deploy/web robot => serviceaccount updated
        set subject rolebinding rb --user=joe => subjects updated
        set selector svc/sc app=web => selector updated
        rollout status deploy/web --timeout=60s => successfully rolled out
        rollout history deploy/web => REVISION
        rollout undo deploy/web --to-revision=1 => rolled back
        rollout pause deploy/web => paused
        ! rollout pause deploy/web => already paused
        rollout resume deploy/web => resumed
        rollout restart deploy/web => restarted
        rollout status deploy/web --timeout=60s => successfully rolled out
        scale deploy/web --replicas=2 => scaled
        ! scale --current-replicas=9 --replicas=1 deploy/web => (Expected replicas to be 9, was 2|expected replicas to be 9, was 2)
        scale --current-replicas=2 --replicas=1 deploy/web => scaled
        autoscale deploy/web --min=1 --max=3 --cpu-percent=50 => autoscaled
        get hpa web => Deployment/web
        delete hpa web => deleted
        expose deploy/web --port=80 --name=webx => service/webx exposed
        expose pod/win --port=80 --type=NodePort => service/win exposed
    """,  # noqa: E501
    "apply": """
        apply -f {dir}/two.yaml => configmap/p2 created
        apply -f {dir}/two.yaml => configmap/p1 unchanged
        apply -f {dir}/two.yaml --dry-run=server => server dry run
        diff -f {dir}/two.yaml => ^$
        ! diff -f {dir}/changed.yaml => \\+  a: "2"
        apply -f {dir}/changed.yaml => configmap/p1 configured
        apply -f {dir}/one.yaml --prune -l prune=me {allow}=core/v1/ConfigMap => configmap/p2 pruned
        apply view-last-applied cm/p1 => a: "1"
        apply set-last-applied -f {dir}/changed.yaml => configmap/p1 configured
        apply --server-side --field-manager=x --force-conflicts -f {dir}/changed.yaml => configmap/p1 serverside-applied
        ! apply --server-side --field-manager=y -f {dir}/one.yaml => Apply failed with \\d conflicts?: conflicts? with "x"
        ! apply -f {dir}/bad.yaml => unknown field "dta"
        replace -f {dir}/one.yaml => configmap/p1 replaced
        replace --force -f {dir}/one.yaml => configmap/p1 replaced
        create -f {dir}/csr.yaml => created
        get csr breadth-{v} => kubernetes.io/kube-apiserver-client +kubernetes-admin +.*Pending
        certificate approve breadth-{v} => approved
        wait --for=condition=Approved csr/breadth-{v} --timeout=20s => condition met
        31> wait --for=jsonpath={.status.certificate} csr/breadth-{v} --timeout=20s => condition met
        describe csr breadth-{v} => Common Name: +jane
        ! certificate deny breadth-{v} => is already Approved
        delete -f {dir}/csr.yaml => deleted
        apply -k {dir}/kustomized => configmap/k-c created
        delete -k {dir}/kustomized => deleted
    """,  # noqa: E501
    "nodes": """
        cordon win-2 => node/win-2 cordoned
        cordon win-2 => already cordoned
        drain win-2 --force --ignore-daemonsets --pod-selector=run=nothing => (drained|evicted)
        uncordon win-2 => node/win-2 uncordoned
        taint node win-2 breadth=b:PreferNoSchedule => tainted
        ! taint node win-2 breadth=b:PreferNoSchedule => --overwrite is false
        taint node win-2 breadth- => untainted
        ! taint node win-2 breadth- => not found
    """,
    "wait": """
        wait --for=condition=Available deploy/web --timeout=20s => condition met
        23> wait --for=jsonpath={.status.phase}=Running pod/win --timeout=20s => condition met
        wait --for=condition=Complete job/j --timeout=20s => condition met
        23> wait --for=delete pod/nope --timeout=3s
        31> wait --for=create cm/p1 --timeout=3s => condition met
        ! wait --for=condition=Nope pod/lin --timeout=1s => timed out waiting for the condition
        26> events --for pod/win => Started container win
        get events --field-selector involvedObject.name=win,reason=Started => Started container win
        get events.events.k8s.io => Started
    """,
    "auth": """
        auth can-i create pods => ^yes
        ! auth can-i create pods --as=jane => ^no
        auth can-i --list --as=jane => selfsubjectaccessreviews
        28> auth whoami => kubernetes-admin
        28> auth whoami => X509SHA256=
        28> auth whoami --as=system:serviceaccount:{ns}:robot => system:serviceaccounts:breadth
        ! get pods --as=joe => pods is forbidden: User "joe" cannot list resource "pods" in API group "" in the namespace
        auth reconcile -f {dir}/role.yaml => missing rules added
        auth reconcile -f {dir}/role.yaml => reconciled$
    """,  # noqa: E501
    "run": """
        exec lin -- echo hi => ^hi$
        exec win -- cmd /c echo hi => ^hi
        exec deploy/web -- hostname => ^web-
        ! exec lin -- sh -c "exit 7" => command terminated with exit code 7
        ! exec win -- cmd /c exit 7 => command terminated with exit code 7
        ! exec win -- nope => The system cannot find the file specified
        ! exec win -c nope -- x => container nope is not valid for pod win
        run r1 --image=busybox --restart=Never -i --rm -- cat => typed
        run r2 --image=servercore --restart=Never -i --rm -- findstr t => typed
        run r3 --image=busybox --dry-run=client -o yaml --env=A=b --port=80 --labels=a=b => containerPort: 80
        logs lin --tail=1
        logs win --tail=1 => TTL=
        logs -l run=win --all-containers --prefix --tail=1 => \\[pod/win/win\\]
        logs job/j => ^hi$
        logs win --since=1h --limit-bytes=10 --timestamps => ^20
        ! logs win --previous => previous terminated container "win" in pod "win" not found
        ! logs lin nope => container nope is not valid for pod lin
        cp {dir}/one.yaml lin:/tmp/one.yaml
        cp lin:/tmp/one.yaml {dir}/from-lin
        cp {dir}/one.yaml win:/one.yaml
        cp win:/one.yaml {dir}/from-win
    """,  # noqa: E501
    "debug": """
        debug node/lin-1 --image=busybox -i -- ls /host => (etc|Creating debugging pod)
        debug lin --image=busybox --copy-to=copied --share-processes -- sleep 100
        get pod copied -o jsonpath={.spec.shareProcessNamespace} => true
    """,
    "delete": """
        create deployment orphan --image=busybox -- sh -c "trap exit TERM; sleep 99 & wait" => created
        delete deploy orphan --cascade=orphan => deleted
        get rs -l app=orphan => orphan-
        delete rs -l app=orphan --cascade=foreground => deleted
        get rs -l app=orphan => No resources found
        ! delete pod nope => pods "nope" not found
        delete pod nope --ignore-not-found
        delete pods --field-selector=status.phase=Succeeded => deleted
        delete svc,cm --all => configmap "kube-root-ca.crt"
        delete deploy/web --dry-run=server => server dry run
        delete pod copied --grace-period=0 --force => force deleted
        cluster-info dump --namespaces {ns} => PodList
        delete clusterrole,clusterrolebinding,priorityclass breadth-{v} => deleted
    """,  # noqa: E501
}


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

    def __call__(self, command: str) -> subprocess.CompletedProcess[str]:
        env = self.cluster.environment()
        return run(self.argv(command), env, check=False, stdin="typed\n", timeout=90)


def desk_names() -> list[Path]:
    found = find_kubectls()
    return found[:1] + found[1:][-1:]


@pytest.fixture(scope="module", params=desk_names(), ids=lambda path: path.name)
def desk(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    own = dataclasses.replace(cluster, program=request.param)
    version = json.loads(own.kubectl("version", "--client", "-o", "json").stdout)
    minor = int(re.sub(r"\D", "", version["clientVersion"]["minor"]))
    folder = tmp_path_factory.mktemp("desk")
    write_files(folder, minor)
    made = Desk(own, minor, f"breadth-{minor}", folder)
    own.kubectl("create", "namespace", made.namespace)
    try:
        for command in (
            "run lin --image=busybox -- sleep 1000000",
            "run win --image=servercore -- ping -t localhost",
            "create deployment web --image=busybox -- httpd -f -p 80",
            "wait --for=condition=Ready pod/lin pod/win --timeout=60s",
            "rollout status deploy/web --timeout=60s",
        ):
            done = made(command)
            assert done.returncode == 0, done.stderr
        yield made
    finally:
        own.kubectl("delete", "namespace", made.namespace, "--wait=false")


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
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    metadata = {"name": "reconciled", "namespace": f"breadth-{minor}"}
    (folder / "role.yaml").write_text(json.dumps({**role, "metadata": metadata, "rules": [rule]}))
    (folder / "kustomized").mkdir()
    (folder / "kustomized" / "kustomization.yaml").write_text("resources: [c.yaml]\nnamePrefix: k-")
    (folder / "kustomized" / "c.yaml").write_text(config_map("c"))
    write_keys(folder, f"breadth-{minor}")


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
    problems = []
    for line in TOPICS[topic].strip().splitlines():
        row = ROW.match(line.strip())
        assert row is not None
        if row["since"] and desk.minor < int(row["since"]):
            continue
        done = desk(row["command"])
        said = done.stdout + done.stderr
        if bool(done.returncode) != bool(row["fails"]):
            problems.append(f"{row['command']}: exit code {done.returncode}: {said}")
        elif row["says"] and not re.search(row["says"], said, re.MULTILINE):
            problems.append(f"{row['command']}: {row['says']!r} is not in: {said}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("pod", "program"), [("lin", "sleep 100"), ("win", "ping -t localhost")], ids=["lin", "win"]
)
def test_debug_puts_a_container_into_a_running_pod(desk: Desk, pod: str, program: str) -> None:
    if desk.minor < 23:
        pytest.skip("this kubectl speaks of ephemeral containers in a way long gone")
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


def test_ports_of_deployments_and_services_are_forwarded(desk: Desk) -> None:
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
