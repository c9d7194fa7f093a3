"""Owners that are named twice are kept once, and whoever named them is told.

Creations and replacements are looked at before and after admission changes them, patches only
after (apiserver: pkg/endpoints/handlers/rest.go).
"""

from typing import Final

from winkube.base.types import JsonObject

_TEXTS: Final = ("apiVersion", "kind", "name", "uid")
_SWITCHES: Final = ("controller", "blockOwnerDeletion")


def drop_repeated_owners(obj: JsonObject, warnings: list[str], *, admitted: bool) -> None:
    owners = obj["metadata"].get("ownerReferences")
    if not owners or len(owners) == 1:
        return
    kept: list[JsonObject] = []
    seen: set[tuple[object, ...]] = set()
    repeated: list[str] = []
    for owner in owners:
        identity = _identity(owner)
        if identity in seen:
            repeated.append(owner.get("uid") or "")
        else:
            seen.add(identity)
            kept.append(owner)
    if repeated:
        obj["metadata"]["ownerReferences"] = kept
        warnings.append(_warning(repeated, admitted=admitted))


def _identity(owner: JsonObject) -> tuple[object, ...]:
    texts = (owner.get(field) or "" for field in _TEXTS)
    return (*texts, *(owner.get(field) for field in _SWITCHES))


def _warning(uids: list[str], *, admitted: bool) -> str:
    when = " after mutating admission happens" if admitted else ""
    return (
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner "
        "references in 1.20+, and may reject such requests as early as 1.24; please fix your "
        f"requests; duplicate UID(s) observed: {', '.join(uids)}"
    )
