"""Write api/internal_fields.json: the fields of upstream's internal types, in their order.

Some of upstream's messages show objects as its own types have them, not as the API has them. Call
with the Go modules' folders:

    python tools/internal_fields.py <k8s.io/kubernetes> <k8s.io/api>

A field is [name, name in the API, type]. Types: v a plain value (its zero follows), p one behind a
pointer, Q quantity, O int-or-string, M a plain map, X what the API's own types show, ^ the fields
of the metadata, or the name of a struct; in front of it * pointer, [ list, { map of quantities.
"""

import json
import re
import sys
from pathlib import Path

STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
ALIAS = re.compile(r"^type (\w+) ([\[\]\*\w\.]+)$", re.MULTILINE)
FIELD = re.compile(r"^\t(?:(\w+)\s+)?([\w\*\[\]\.]+)(?:\s+`json:\"([^\"]*)\"[^`]*`)?\s*(?://.*)?$")
SCALARS = {"string": "", "bool": False, "int": 0, "int32": 0, "int64": 0, "types.UID": ""}
SPECIAL = {"resource.Quantity": "Q", "intstr.IntOrString": "O"}
ROOTS = (
    "PodSpec", "EphemeralContainer", "PersistentVolumeClaimSpec", "PersistentVolumeSource",
    "FlowSchemaSpec", "PriorityLevelConfigurationSpec", "PodFailurePolicy", "SuccessPolicy",
    "PersistentVolumeSpec",
)  # fmt: skip


class Types:
    def __init__(self, texts: list[str]) -> None:
        text = "\n".join(texts)
        self.structs = dict(STRUCT.findall(text))
        self.aliases = dict(ALIAS.findall(text))

    def fields(self, struct: str) -> list[tuple[str, str, str]]:
        found = (FIELD.match(line) for line in self.structs[struct].splitlines())
        return [(match[1] or "", match[2], match[3] or "") for match in found if match]


def code(internal: Types, go: str) -> list[object]:
    """The type's code, and the zero of a plain value."""
    go = go.removeprefix("api.")
    for prefix, mark in (("*", "*"), ("[]", "[")):
        if go.startswith(prefix):
            inner = code(internal, go.removeprefix(prefix))
            return ["p"] if inner[0] == "v" else [f"{mark}{inner[0]}"]
    if go.startswith("map["):
        return ["{Q"] if go.endswith("resource.Quantity") else ["M"]
    if go in SCALARS:
        return ["v", SCALARS[go]]
    if go in internal.aliases:
        return code(internal, internal.aliases[go])
    return [SPECIAL.get(go, go if go in internal.structs else "X")]


class Reader:
    def __init__(self, internal: Types, served: Types) -> None:
        self.internal, self.served = internal, served
        self.made: dict[str, list[list[object]]] = {}

    def keys(self, struct: str) -> dict[str, str]:
        """The API's names of a struct's fields."""
        found: dict[str, str] = {}
        for name, go, tag in self.served.fields(struct) if struct in self.served.structs else ():
            key, *options = tag.split(",")
            if "inline" in options:
                found |= self.keys(go)
            elif name:
                found[name] = key
        return found

    def visit(self, struct: str) -> None:
        if struct in self.made or struct not in self.internal.structs:
            return
        self.made[struct] = entries = []
        known = self.keys(struct)
        for name, go, _ in self.internal.fields(struct):
            if name:
                kind = code(self.internal, go)
                key = known.get(name) or name[0].lower() + name[1:]
                entries.append([name, key, *kind])
                self.visit(str(kind[0]).lstrip("*["))
            elif go == "metav1.ObjectMeta":
                entries.append(["", "metadata", "^"])
            else:
                self.visit(go)
                entries += self.made[go]


def main() -> None:
    kubernetes, api = (Path(folder) for folder in sys.argv[1:3])
    groups = ("core", "flowcontrol", "batch")
    internal = Types([(kubernetes / f"pkg/apis/{group}/types.go").read_text() for group in groups])
    served = Types([(api / f"{group}/v1/types.go").read_text() for group in groups])
    reader = Reader(internal, served)
    for root in ROOTS:
        reader.visit(root)
    made = reader.made.items()
    lines = [f"{json.dumps(name)}: {json.dumps(entries)}" for name, entries in made]
    path = Path(__file__).parents[1] / "src" / "winkube" / "api" / "internal_fields.json"
    path.write_text("{\n" + ",\n".join(sorted(lines)) + "\n}\n")


if __name__ == "__main__":
    main()
