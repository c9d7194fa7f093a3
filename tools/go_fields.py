"""Write api/go_fields.json: what Go's encoder leaves out of an object, and what it always writes.

Both stand in the struct tags of the Go types: ``omitempty`` leaves out zero scalars that are not
behind a pointer, and fields without it are written even when nobody set them. Call with the Go
modules' folders, as ``go mod download`` leaves them:

    python tools/go_fields.py <k8s.io/api> <k8s.io/apimachinery> <apiextensions> <kube-aggregator>

Each definition has two entries: the fields whose zero is left out, and the fields that are always
there with their zero (null, "", 0, false; {} stands for a struct's own zero).
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

FIELD = re.compile(r'^\t(?:(\w+)\s+)?([\w\*\[\]\.\{\}]+)\s+`[^`]*json:"([^"]*)"', re.MULTILINE)
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
ALIAS = re.compile(r"^type (\w+) ([\[\]\*\w\.]+)$", re.MULTILINE)
ZEROS = {"string": "", "bool": False, "float64": 0} | dict.fromkeys(
    ("int", "int32", "int64", "uint32", "uint64", "byte"), 0
)
# Structs with a JSON form of their own.
SPECIAL = {
    "resource.Quantity": "0", "intstr.IntOrString": 0, "metav1.Time": None, "v1.Time": None,
    "metav1.MicroTime": None, "v1.MicroTime": None, "metav1.Duration": "0s",
    "runtime.RawExtension": None, "types.UID": "", "types.NodeName": "",
    "apiextensionsv1.JSON": None,
}  # fmt: skip
META = ("io.k8s.apimachinery.pkg.apis.meta.v1", "pkg/apis/meta/v1")


def packages(roots: list[Path]) -> dict[str, Path]:
    api, machinery, extensions, aggregator = roots
    found = {
        f"io.k8s.api.{path.parent.parent.name}.{path.parent.name}": path.parent
        for path in sorted(api.glob("*/*/types.go"))
    }
    found[META[0]] = machinery / META[1]
    base = "pkg/apis/apiextensions/v1"
    found["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"] = extensions / base
    base = "pkg/apis/apiregistration/v1"
    found["io.k8s.kube-aggregator.pkg.apis.apiregistration.v1"] = aggregator / base
    return found


class Package:
    def __init__(self, folder: Path) -> None:
        texts = [path.read_text() for path in sorted(folder.glob("*types*.go"))]
        text = "\n".join(texts)
        self.aliases = dict(ALIAS.findall(text))
        self.structs = dict(STRUCT.findall(text))
        imports = r'^\s*(?:(\w+)\s+)?"k8s\.io/([^"]+)"'
        self.imports = {
            alias or path.rpartition("/")[2]: path
            for alias, path in re.findall(imports, text, re.MULTILINE)
        }


class Reader:
    def __init__(self, roots: list[Path]) -> None:
        self.packages = {name: Package(folder) for name, folder in packages(roots).items()}

    def zero(self, name: str, go: str) -> Any:
        """The JSON of an unset field of this Go type."""
        if go[0] in "*[" or go.startswith("map["):
            return None
        package = self.packages[name]
        if go in ZEROS:
            return ZEROS[go]
        if go in package.aliases:
            return self.zero(name, package.aliases[go])
        if go in SPECIAL or f"metav1.{go}" in SPECIAL:
            return SPECIAL.get(go, SPECIAL.get(f"metav1.{go}"))
        if go in package.structs:
            return {}
        found = self.imported(package, go)
        return self.zero(*found) if found is not None else {}

    def imported(self, package: Package, go: str) -> tuple[str, str] | None:
        alias, dot, kind = go.partition(".")
        path = package.imports.get(alias, "") if dot else ""
        if path.startswith("api/"):
            return f"io.k8s.{path.replace('/', '.')}", kind
        if path.endswith(META[1]):
            return META[0], kind
        return None

    def fields(self, name: str, kind: str) -> tuple[set[str], dict[str, Any]]:
        """Left out when zero, always there."""
        dropped: set[str] = set()
        always: dict[str, Any] = {}
        for _, go, tag in FIELD.findall(self.packages[name].structs[kind]):
            key, *options = tag.split(",")
            if key == "-":
                continue
            if "inline" in options or not key:
                self.inline(name, go, dropped, always)
                continue
            zero = self.zero(name, go)
            if "omitempty" not in options and "omitzero" not in options:
                always[key] = zero
            elif "omitzero" in options:
                continue
            elif isinstance(zero, dict) or self.is_struct(name, go):
                always[key] = zero
            elif zero is not None:
                dropped.add(key)
        return dropped, always

    def is_struct(self, name: str, go: str) -> bool:
        if go[0] in "*[" or go.startswith("map["):
            return False
        special = go in SPECIAL or f"metav1.{go}" in SPECIAL
        return special and not go.startswith("types.")

    def inline(self, name: str, go: str, dropped: set[str], always: dict[str, Any]) -> None:
        kind = go.lstrip("*")
        found = self.imported(self.packages[name], kind) or (name, kind)
        if found[1] == "TypeMeta" or found[1] not in self.packages[found[0]].structs:
            return
        more, there = self.fields(*found)
        dropped |= more
        if not go.startswith("*"):
            always.update(there)


def main() -> None:
    reader = Reader([Path(root) for root in sys.argv[1:5]])
    lines = []
    for name, package in reader.packages.items():
        for kind in package.structs:
            dropped, always = reader.fields(name, kind)
            if dropped or always:
                entry = [sorted(dropped), dict(sorted(always.items()))]
                lines.append(f"{json.dumps(f'{name}.{kind}')}: {json.dumps(entry)}")
    path = Path(__file__).parents[1] / "src" / "winkube" / "api" / "go_fields.json"
    path.write_text("{\n" + ",\n".join(sorted(lines)) + "\n}\n")


if __name__ == "__main__":
    main()
