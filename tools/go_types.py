"""Write api/go_types.json: the named types of fields that are plain in JSON, as Go prints them.

Go's decoder says which type a value did not fit, and enums have names: v1.Protocol, not string.
Call with the folders of k8s.io/api and k8s.io/apimachinery:

    python tools/go_types.py <k8s.io/api> <k8s.io/apimachinery>
"""

import json
import re
import sys
from pathlib import Path

STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
ALIAS = re.compile(r"^type (\w+) (string|int32|map\[\w+\][\w.]+)$", re.MULTILINE)
FIELD = re.compile(r"^\t(?:\w+)\s+([\w\*\[\]\.]+)\s+`json:\"([^\",]+)", re.MULTILINE)
MAP = re.compile(r"map\[(\w+)\]([\w.]+)")
PACKAGES = re.compile(r'^\t(?:(\w+) )?"(k8s\.io/[\w./-]+)"$', re.MULTILINE)


def aliases(folder: Path) -> set[str]:
    return {name for file in folder.glob("*.go") for name, _ in ALIAS.findall(file.read_text())}


def shown(go: str, own: str, known: set[str], foreign: dict[str, tuple[str, set[str]]]) -> str:
    """The type as Go prints it; empty for types without a name of their own."""
    bare = go.lstrip("*")
    if bare.startswith("[]"):
        inner = shown(bare[2:], own, known, foreign)
        return f"[]{inner}" if inner else ""
    pair = MAP.fullmatch(bare)
    if pair is not None:
        key, inner = (shown(part, own, known, foreign) for part in pair.groups())
        return f"map[{key}]{inner}" if key and inner else ""
    package, dot, name = bare.rpartition(".")
    if not dot:
        return f"{own}.{name}" if name in known else ""
    if bare == "types.UID":
        return bare
    where, names = foreign.get(package, ("", set()))
    return f"{where}.{name}" if name in names else ""


def read(folder: Path, definition: str, roots: dict[str, Path]) -> dict[str, dict[str, str]]:
    known, made = aliases(folder), {}
    for file in sorted(folder.glob("*types*.go")):
        text = file.read_text()
        foreign = {}
        for alias, path in PACKAGES.findall(text):
            root = next((r for r in roots if path.startswith(r)), None)
            if root is not None:
                names = aliases(roots[root] / path.removeprefix(root).strip("/"))
                last = path.rpartition("/")[2]
                foreign[alias or last] = (last, names)
        for struct, body in STRUCT.findall(text):
            fields = {
                key: shown(go, folder.name, known, foreign) for go, key in FIELD.findall(body)
            }
            named = {key: text for key, text in fields.items() if text}
            if named:
                made[f"{definition}.{struct}"] = named
    return made


def main() -> None:
    api, machinery = (Path(folder) for folder in sys.argv[1:3])
    roots = {"k8s.io/apimachinery": machinery, "k8s.io/api": api}
    meta = machinery / "pkg" / "apis" / "meta" / "v1"
    made = read(meta, "io.k8s.apimachinery.pkg.apis.meta.v1", roots)
    for folder in sorted(api.glob("*/v*")):
        if folder.is_dir():
            made |= read(folder, f"io.k8s.api.{folder.parent.name}.{folder.name}", roots)
    lines = [f"{json.dumps(name)}: {json.dumps(made[name])}" for name in sorted(made)]
    path = Path(__file__).parents[1] / "src" / "winkube" / "api" / "go_types.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
