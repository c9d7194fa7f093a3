"""The linter: 10,000 manifests in one run on one core, and one List of 20,000 pods.

Prints manifests per second of processor time, and the peak of memory.
"""

import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

MANIFESTS = 10_000
PODS = 20_000
NEEDED = 500.0

DEPLOYMENT = """\
# {name}: serves the shop's pages
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: shop
  labels:
    app.kubernetes.io/name: {name}
spec:
  replicas: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {name}
    spec:
      nodeSelector:
        kubernetes.io/os: {os}
      containers:
        - name: web
          image: {image}
          ports:
            - containerPort: 8080
          env:
            - name: MODE
              value: production
          resources:
            limits: {{cpu: "1", memory: 512Mi}}
            requests: {{cpu: 100m, memory: 128Mi}}
          readinessProbe:
            httpGet: {{path: /healthz, port: 8080}}
          volumeMounts:
            - name: settings
              mountPath: /etc/settings
          {extra}
      volumes:
        - name: settings
          configMap: {{name: {name}}}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: {name}
  namespace: shop
spec:
  selector:
    app.kubernetes.io/name: {name}
  ports:
    - port: 80
      targetPort: 8080
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  namespace: shop
data:
  settings.ini: |
    [web]
    name = {name}
    workers = 4
"""
LINUX, WINDOWS = "example.com/shop/web:1.4.2", "mcr.microsoft.com/windows/servercore/iis:ltsc2022"


def write_manifests(folder: Path, count: int) -> None:
    """Half of them workloads, a tenth of these with something to find; one manifest per file."""
    for number in range(count):
        name = f"web-{number}"
        is_windows, is_bad = number % 4 == 0, number % 20 < 2
        text = (DEPLOYMENT, SERVICE, DEPLOYMENT, CONFIG)[number % 4].format(
            name=name,
            os="windows" if is_windows else "linux",
            image=WINDOWS if is_windows else LINUX,
            extra="securityContext: {privileged: true}" if is_bad else "workingDir: /srv",
        )
        place = folder / f"{number // 500:02}"
        place.mkdir(exist_ok=True)
        (place / f"{name}.yaml").write_text(text)


def write_list(folder: Path, count: int) -> None:
    """One file, as of ``kubectl get pods -o json``; a tenth with something to find."""
    text = DEPLOYMENT.partition("    spec:\n")[2]
    with (folder / "pods.json").open("w") as file:
        file.write('{"apiVersion": "v1", "kind": "List", "items": [\n')
        for number in range(count):
            name = f"web-{number}"
            spec = text.format(
                name=name,
                os="windows",
                image=WINDOWS,
                extra="securityContext: {privileged: true}" if number % 10 == 0 else "stdin: false",
            )
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}},
                "spec": yaml.load(spec, Loader=yaml.CSafeLoader),
            }
            file.write(
                json.dumps(pod, separators=(",", ":")) + (",\n" if number + 1 < count else "\n")
            )
        file.write("]}\n")


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(write: Callable[[Path, int], None], count: int) -> tuple[float, float, int]:
    """(manifests per second of processor time, peak MiB, findings) in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), count)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, repr(_lint(name)).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as answer:
            seconds, peak, findings = (float(word) for word in answer.read()[1:-1].split(","))
        os.waitpid(child, 0)
    return count / seconds, peak, int(findings)


def _lint(folder: str) -> tuple[float, float, int]:
    from winkube.lint.collector import calm_collector
    from winkube.lint.run import LintConfig, lint
    from winkube.lint.sources import read_sources
    from winkube.rules.target import parse_targets

    began = time.process_time()
    with calm_collector():
        report = lint(LintConfig(parse_targets()), read_sources([folder]))
    return time.process_time() - began, memory(), len(report.findings)


def main() -> None:
    print(f"{'winkube lint':<28}{'manifests/s':>12}{'peak MiB':>10}{'findings':>10}")
    cases = (
        ("manifests", write_manifests, MANIFESTS // 10),
        ("manifests", write_manifests, MANIFESTS),
        ("pods in a List", write_list, PODS // 10),
        ("pods in a List", write_list, PODS),
    )
    for what, write, count in cases:
        rate, peak, findings = measure(write, count)
        title = f"{count:,} {what}"
        print(f"{title:<28}{rate:>12,.0f}{peak:>10.0f}{findings:>10,}")
    print(f"{'needed':<28}{NEEDED:>12,.0f}")


if __name__ == "__main__":
    main()
