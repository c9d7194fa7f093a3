"""Objects about which decoding has nothing to say: known fields, right types, no zeros.

Controllers write nearly all of a cluster's pods. What they write beside the spec always looks the
same, and telling so is much cheaper than the walk along the schema that comes to the same end.
"""

from typing import Final

from winkube.base.types import JsonObject

_SECTIONS: Final = frozenset({"kind", "apiVersion", "metadata", "spec"})
_TEXTS: Final = frozenset({"name", "generateName", "namespace"})
_MAPS: Final = frozenset({"labels", "annotations"})
_BINDING: Final = frozenset({"kind", "apiVersion", "metadata", "target"})
_BINDING_TEXTS: Final = _TEXTS | {"uid"}
_TARGET_TEXTS: Final = frozenset({"apiVersion", "kind", "name"})
_OWNER_TEXTS: Final = frozenset({"apiVersion", "kind", "name", "uid"})
_OWNER_MARKS: Final = frozenset({"controller", "blockOwnerDeletion"})


def is_plain(obj: JsonObject) -> bool:
    """Whether everything beside the spec is as a check and a round trip would leave it."""
    metadata = obj.get("metadata")
    return obj.keys() <= _SECTIONS and type(metadata) is dict and _is_plain_metadata(metadata)


def is_plain_binding(obj: JsonObject) -> bool:
    """As ``is_plain``, of the word of a scheduler."""
    return (
        obj.keys() == _BINDING
        and (obj["apiVersion"], obj["kind"]) == ("v1", "Binding")
        and _are_texts(obj["metadata"], _BINDING_TEXTS)
        and _are_texts(obj["target"], _TARGET_TEXTS)
    )


def _are_texts(part: object, known: frozenset[str]) -> bool:
    return type(part) is dict and all(
        key in known and type(value) is str and value != "" for key, value in part.items()
    )


def _is_plain_metadata(metadata: JsonObject) -> bool:
    for key, value in metadata.items():
        if key in _TEXTS:
            plain = type(value) is str and value != ""
        elif key in _MAPS:
            plain = _is_text_map(value)
        else:
            plain = key == "ownerReferences" and type(value) is list and _are_owners(value)
        if not plain:
            return False
    return True


def _is_text_map(value: object) -> bool:
    return type(value) is dict and value != {} and all(type(text) is str for text in value.values())


def _are_owners(owners: list[object]) -> bool:
    return bool(owners) and all(type(owner) is dict and _is_owner(owner) for owner in owners)


def _is_owner(owner: JsonObject) -> bool:
    for key, value in owner.items():
        text = key in _OWNER_TEXTS and type(value) is str
        if not text and not (key in _OWNER_MARKS and value is True):
            return False
    return owner.keys() >= _OWNER_TEXTS
