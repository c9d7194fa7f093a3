"""Write apiserver/protobuf/fields.json: the field numbers of Kubernetes' protobuf messages.

The numbers stand in the struct tags of k8s.io/api, k8s.io/apimachinery and k8s.io/kube-aggregator.
Call with the folders of these Go modules, as ``go mod download`` leaves them:

    python tools/protobuf_fields.py <k8s.io/api> <k8s.io/apimachinery> <k8s.io/kube-aggregator>

A field is [number, JSON name, type]. Types: s string, i integer, b bool, d double, y bytes, T time,
U time with microseconds, N duration, Q quantity, O int-or-string, R raw JSON, L list of strings in
a message of its own, or the name of a message; in front of it * pointer (zero is a value), [ list,
{ map from string, ^ fields of the message belong to the parent.
"""

import json
import re
import sys
from pathlib import Path

GROUPS = """
admissionregistration/v1 apps/v1 authentication/v1 authorization/v1 autoscaling/v1 autoscaling/v2
batch/v1 certificates/v1 coordination/v1 core/v1 discovery/v1 events/v1 flowcontrol/v1 networking/v1
node/v1 policy/v1 rbac/v1 resource/v1 scheduling/v1 storage/v1
""".split()  # noqa: SIM905 - a list of words reads best as text
SCALARS = {
    "string": "s", "bool": "b", "int": "i", "int32": "i", "int64": "i", "uint32": "i",
    "uint64": "i", "float64": "d", "[]byte": "y", "byte": "y",
}  # fmt: skip
SPECIAL = {
    "meta/v1.Time": "T", "meta/v1.MicroTime": "U", "meta/v1.Duration": "N",
    "resource.Quantity": "Q", "intstr.IntOrString": "O", "runtime.RawExtension": "R",
    "meta/v1.FieldsV1": "R", "types.UID": "s", "types.NodeName": "s", "types.NamespacedName": "s",
}  # fmt: skip
IMPORT = re.compile(r'^(?:import)?\s*(?:(\w+)\s+)?"(k8s\.io/[^"]+)"', re.MULTILINE)
FIELD = re.compile(r'^\t(?:(\w+)\s+)?([\w\*\[\]\.]+)\s+`json:"([^"]*)"[^`]*protobuf:"\w+,(\d+),')


def show(folder: str, path: str) -> str:
    return Path(folder, path).read_text()


def imports(text: str) -> dict[str, str]:
    found = {}
    for alias, path in IMPORT.findall(text):
        short = path.removeprefix("k8s.io/api/").removeprefix("k8s.io/apimachinery/pkg/")
        short = short.removeprefix("apis/").removeprefix("api/").removeprefix("util/")
        found[alias or path.rpartition("/")[2]] = short
    return found


class Package:
    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.imports = imports(text)
        self.aliases = dict(re.findall(r"^type (\w+) ([\[\]\w\.]+)$", text, re.MULTILINE))
        self.structs = re.findall(
            r"^type (\w+) struct \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL
        )


def resolve(packages: dict[str, Package], package: Package, go: str) -> str:
    if go in SCALARS:
        return SCALARS[go]
    for prefix, code in (("*", "*"), ("[]", "[")):
        if go.startswith(prefix):
            return code + resolve(packages, package, go.removeprefix(prefix))
    if go.startswith("map["):
        return "{" + resolve(packages, package, go.partition("]")[2])
    return named(packages, package, go)


def named(packages: dict[str, Package], package: Package, go: str) -> str:
    alias, dot, name = go.rpartition(".")
    home = package.imports.get(alias, alias) if dot else package.name
    full = f"{home}.{name}"
    if full in SPECIAL:
        return SPECIAL[full]
    owner = packages.get(home)
    if owner is not None and name in owner.aliases:
        target = resolve(packages, owner, owner.aliases[name])
        return "L" if target == "[s" else target
    return full


def fields(packages: dict[str, Package], package: Package, body: str) -> list[list[object]]:
    found: list[list[object]] = []
    for line in body.splitlines():
        match = FIELD.match(line)
        if match is None:
            continue
        _, go, tag, number = match.groups()
        json_name = tag.partition(",")[0]
        kind = resolve(packages, package, go)
        if not json_name:
            if "TypeMeta" not in go:
                found.append([int(number), "", "^" + kind.lstrip("*")])
        else:
            found.append([int(number), json_name, kind])
    return found


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def main(api: str, machinery: str, aggregator: str) -> None:
    packages = {name: Package(name, show(api, f"{name}/types.go")) for name in GROUPS}
    packages["meta/v1"] = Package("meta/v1", show(machinery, "pkg/apis/meta/v1/types.go"))
    registration = "apiregistration/v1"
    text = show(aggregator, f"pkg/apis/{registration}/types.go")
    packages[registration] = Package(registration, text)
    table = {
        f"{package.name}.{name}": listed
        for package in packages.values()
        for name, body in package.structs
        if (listed := fields(packages, package, body))
    }
    lines = [f"{json.dumps(name)}:{compact(table[name])}" for name in sorted(table)]
    out = Path(__file__).parents[1] / "src/winkube/apiserver/protobuf/fields.json"
    out.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
