"""Run groups on a cluster made for them: ``python -m tests.conformance [group ...]``."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.conformance.images import make_linux_archive
from tests.conformance.report import Result, merge, read_report, to_table
from tests.conformance.run import GROUPS, WINDOWS, Suite
from tests.conformance.windows_images import make_windows_archive
from tests.e2e.harness import find_kubectls

from winkube.machines.personality import find_personality

ROOT: Final = Path(__file__).parents[2]
# Debian's packages with the programs that the tests' images hold.
PACKAGES: Final = ("busybox-static", "curl", "bind9-dnsutils", "etcd-server", "netcat-openbsd")

WINDOWS_VERSION: Final = "ltsc2019"
TAINT: Final = "node-role.kubernetes.io/control-plane"
WINDOWS_OPTIONS: Final = ("--node-os-distro=windows", f"--non-blocking-taints={TAINT}")


def main() -> int:
    arguments = _parse()
    if subprocess.run([ROOT / "tools" / "install-programs", *PACKAGES], check=False).returncode:
        return 1
    programs = _build()
    if programs is None:
        return 1
    out = Path(arguments.out or tempfile.mkdtemp(prefix="winkube-conformance-")).resolve()
    out.mkdir(parents=True, exist_ok=True)
    results = _run(programs, out, arguments)
    print(to_table(results))
    # A group of which nothing ran has not passed: its name may be misspelt.
    passed = all(result.passed and not result.failed for result in results)
    if arguments.out or arguments.keep or not passed:
        print(f"logs and reports: {out}")
    else:
        shutil.rmtree(out)
    return 0 if passed else 1


def _run(programs: Path, out: Path, arguments: argparse.Namespace) -> list[Result]:
    os.environ["KUBECONFIG"] = str(out / "kubeconfig")
    try:
        shape = ("1", "2") if arguments.windows else ("2", "0")
        _winkube("up", "--name", arguments.name, "--linux", shape[0], "--windows", shape[1])
        _load_images(programs, out, arguments)
        kubectl = _kubectl(arguments.kubectl)
        if arguments.windows:
            _reserve_linux(kubectl)
        options = WINDOWS_OPTIONS if arguments.windows else ()
        suite = Suite(programs, out, kubectl, arguments.procs, options)
        return [
            merge(group, [read_report(path) for path in suite.run(group, arguments.skip)])
            for group in ([WINDOWS] if arguments.windows else arguments.groups)
        ]
    finally:
        if not arguments.keep:
            _winkube("down", "--name", arguments.name)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument("groups", nargs="*", default=GROUPS, help="default: %(default)s")
    parser.add_argument("--windows", action="store_true", help="those for Windows pods instead")
    parser.add_argument("--name", default="conformance", help="the cluster's name")
    parser.add_argument("--keep", action="store_true", help="leave the cluster running")
    parser.add_argument(
        "--out", help="a folder that keeps logs and reports (kept anyway when a test fails)"
    )
    parser.add_argument("--kubectl", help="the kubectl of the cli tests; default: the newest here")
    parser.add_argument("--procs", type=int, default=5, help="tests at the same time")
    parser.add_argument("--skip", default="", help="expression of tests to leave out")
    return parser.parse_args()


def _build() -> Path | None:
    built = subprocess.run(
        [ROOT / "tools" / "build-conformance"], check=False, stdout=subprocess.PIPE, text=True
    )
    return Path(built.stdout.splitlines()[-1]) if built.returncode == 0 else None


def _kubectl(wanted: str | None) -> str:
    found = find_kubectls()
    return wanted or (str(found[-1]) if found else "kubectl")


def _load_images(programs: Path, out: Path, arguments: argparse.Namespace) -> None:
    listing = subprocess.run(
        [programs / "e2e.test", "--list-images"], check=True, stdout=subprocess.PIPE, text=True
    )
    names = listing.stdout.split()
    archive = out / "images.tar"
    make_linux_archive(archive, programs, names)
    _winkube("load", str(archive), "--name", arguments.name)
    if arguments.windows:
        build = find_personality(WINDOWS_VERSION).kernel_version
        make_windows_archive(archive, programs, names, build)
        _winkube("load", str(archive), "--name", arguments.name)
    archive.unlink()


def _reserve_linux(kubectl: str) -> None:
    """Pods of the tests that name no system have to run on Windows."""
    chosen = ("-l", "kubernetes.io/os=linux")
    subprocess.run([kubectl, "taint", "nodes", *chosen, f"{TAINT}:NoSchedule"], check=True)


def _winkube(*argv: str) -> None:
    subprocess.run([sys.executable, "-m", "winkube", *argv], check=True)


sys.exit(main())
