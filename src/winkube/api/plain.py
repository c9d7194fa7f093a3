"""Objects that reading them along the schema has nothing to say about.

Nearly everything that is written has known fields of the right types, no zeros that would be left
out, and nothing that could be spelt in another way. To tell so is all that ``check_fields`` and
``round_trip`` would do, and a reader compiled from the schema tells it many times faster. What it
refuses may be right all the same: that is looked at field by field.
"""

import functools
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
import orjson
from msgspec import UNSET, Meta, UnsetType

from winkube.api.roundtrip import fill_zeros
from winkube.api.schema import Definition, Gvk, Schema, Shape, Type
from winkube.base.types import JsonObject

# So often a kind is written before a reader is made for it.
_WORTH_IT: Final = 16
_INT32: Final = Annotated[int, Meta(ge=-(2**31), lt=2**31)]
_INT64: Final = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_TEXT: Final = Annotated[str, Meta(min_length=1)]
_MOMENT: Final = (
    r"\A[12][0-9]{3}-"
    r"((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
    r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
# So few digits that no other spelling is shorter.
_QUANTITY: Final = r"\A[1-9][0-9]{0,2}(m|Ki|Mi|Gi|Ti)?\Z"
_SIMPLE: Final[dict[Type, Any]] = {
    Type.ANY: dict[str, Any] | list[Any] | str | int | float | bool,  # all but null
    Type.STRING: str,
    Type.INT32: _INT32,
    Type.INT64: _INT64,
    Type.NUMBER: float,
    Type.BOOL: bool,
    Type.TIME: Annotated[str, Meta(pattern=_MOMENT + r"Z\Z")],
    Type.MICRO_TIME: Annotated[str, Meta(pattern=_MOMENT + r"\.[0-9]{6}Z\Z")],
    Type.QUANTITY: Annotated[str, Meta(pattern=_QUANTITY)],
    Type.INT_OR_STRING: _INT32 | str,
    Type.FREE_OBJECT: dict[str, Any],
}


class _True:
    """What is true; there is no other type for it."""


_TRUE: Final = _True()
# Of fields whose zero is not written.
_NO_ZERO: Final[dict[Type, Any]] = {
    Type.BOOL: _True,
    Type.STRING: _TEXT,
    Type.INT32: Annotated[int, Meta(ge=1, lt=2**31)],
    Type.INT64: Annotated[int, Meta(ge=1, le=2**63 - 1)],
    Type.TIME: _SIMPLE[Type.TIME],
    Type.MICRO_TIME: _SIMPLE[Type.MICRO_TIME],
    Type.QUANTITY: _SIMPLE[Type.QUANTITY],
}


def complete_plain(schema: Schema, gvk: Gvk, obj: JsonObject) -> bool:
    """Whether the object is plain; if so it gets, in place, the fields that are always written."""
    reader = _readers(schema).reader(gvk)
    if reader is None or not reader.reads(orjson.dumps(obj)):
        return False
    reader.complete(obj)
    return True


@functools.lru_cache(maxsize=4)
def _readers(schema: Schema) -> "_Readers":
    return _Readers(schema)


class _Readers:
    """One for each kind, made when that is worth it: a pod's takes as long as some hundred pods."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._types = _Types()
        self._gaps = _Gaps()
        self._asked: Counter[Gvk] = Counter()
        self._made: dict[Gvk, _Reader | None] = {}
        self._making = threading.Lock()  # large objects are looked at in threads

    def reader(self, gvk: Gvk) -> "_Reader | None":
        found = self._made.get(gvk, ...)
        if found is not ...:
            return found
        self._asked[gvk] += 1
        if self._asked[gvk] < _WORTH_IT:
            return None
        with self._making:
            made = self._made[gvk] = self._make(gvk)
        return made

    def _make(self, gvk: Gvk) -> "_Reader | None":
        definition = self._schema.for_kind(gvk)
        if definition is None:
            return None
        decoder = msgspec.json.Decoder(self._types.of(definition), dec_hook=_check_true)
        return _Reader(decoder, self._gaps.of(definition))


def _check_true(_: type, value: Any) -> _True:
    if value is not True:
        raise ValueError(value)
    return _TRUE


class _Reader:
    def __init__(self, decoder: "msgspec.json.Decoder[Any]", gap: "_Gap | None") -> None:
        self._decoder = decoder
        self._gap = gap

    def reads(self, text: bytes) -> bool:
        try:
            self._decoder.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return False
        return True

    def complete(self, obj: JsonObject) -> None:
        if self._gap is not None:
            self._gap.fill(obj)


class _Types:
    """Structs of the schema as types, each made once; None is the type of what is never plain."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def of(self, definition: Definition) -> Any:
        if definition.name not in self._known:
            self._known[definition.name] = None  # while it is made: one that holds itself
            self._known[definition.name] = self._defined(definition)
        return self._known[definition.name]

    def _defined(self, definition: Definition) -> Any:
        always = dict(definition.always)
        names: dict[str, str] = {}
        fields: list[Any] = []
        for name, shape in definition.properties.items():
            kind = self._type(shape, _NO_ZERO if name in definition.zeros else _SIMPLE)
            if kind is None:
                continue  # whoever has it is told so as if it were unknown
            if name in always and always[name] is None:
                kind |= None
            field = f"f{len(fields)}"  # names in the schema may be no names in Python
            names[field] = name
            fields.append((field, kind | UnsetType, UNSET))
        return msgspec.defstruct(
            definition.go_name, fields, rename=names, kw_only=True, forbid_unknown_fields=True
        )

    def _type(self, shape: Shape, simple: Mapping[Type, Any]) -> Any:
        if shape.definition is not None:
            return self.of(shape.definition)
        if shape.item is None:
            return simple.get(shape.type)
        item = self._type(shape.item, _SIMPLE)
        if item is None:
            return None
        kind: Any = list[item] if shape.type is Type.LIST else dict[str, item]  # type: ignore[valid-type]
        return Annotated[kind, Meta(min_length=1)]  # an empty one would be left out


@dataclass(slots=True)
class _Gap:
    """Where in a struct fields may be missing that are always written."""

    definition: Definition
    structs: "list[tuple[str, _Gap]]"
    lists: "list[tuple[str, _Gap]]"
    maps: "list[tuple[str, _Gap]]"

    def fill(self, obj: JsonObject) -> None:
        for name, gap in self.structs:
            if obj.get(name) is not None:
                gap.fill(obj[name])
        for name, gap in self.lists:
            for struct in obj.get(name) or ():
                gap.fill(struct)
        for name, gap in self.maps:
            for struct in (obj.get(name) or {}).values():
                gap.fill(struct)
        for name, _ in self.definition.always:
            if name not in obj:
                fill_zeros(self.definition, obj)
                break


class _Gaps:
    def __init__(self) -> None:
        self._known: dict[str, _Gap | None] = {}

    def of(self, definition: Definition) -> _Gap | None:
        """None where nothing can be missing."""
        if definition.name not in self._known:
            self._known[definition.name] = None
            self._known[definition.name] = self._found(definition)
        return self._known[definition.name]

    def _found(self, definition: Definition) -> _Gap | None:
        found = _Gap(definition, [], [], [])
        for name, shape in definition.properties.items():
            inner = shape.definition or (shape.item and shape.item.definition)
            gap = self.of(inner) if inner else None
            if gap is not None:
                among = {Type.LIST: found.lists, Type.MAP: found.maps}
                among.get(shape.type, found.structs).append((name, gap))
        is_needed = definition.always or found.structs or found.lists or found.maps
        return found if is_needed else None
