"""What changed, as refusals of a change show it."""

from winkube.base.types import JsonObject


def difference(kind: str, old: JsonObject, new: JsonObject) -> str:
    """The changed fields; the exact form is upstream's comparer's and differs between its runs."""
    changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
    lines = "\n".join(f"  {key}" for key in changed)
    return f"  {kind}{{\n{lines}\n  }}\n"
