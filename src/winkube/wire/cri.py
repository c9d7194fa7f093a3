"""CRI v1 message classes, built from the tables of ``cri_table``.

``from winkube.wire import cri`` gives every message as an attribute (``cri.VersionRequest``) and
every enum value as a number (``cri.CONTAINER_RUNNING``).
"""

from collections.abc import Iterator
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from winkube.wire import cri_table

PACKAGE: Final = "runtime.v1"
_File = descriptor_pb2.FileDescriptorProto
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
    "bool": _Field.TYPE_BOOL,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "uint32": _Field.TYPE_UINT32,
    "uint64": _Field.TYPE_UINT64,
    "double": _Field.TYPE_DOUBLE,
}
# Requests and responses that do not follow the method's name.
_ODD_TYPES: Final = {"GetContainerEvents": ("GetEventsRequest", "ContainerEventResponse")}


def method_types(method: str) -> tuple[Any, Any]:
    """The request and response classes of a method."""
    request, response = _ODD_TYPES.get(method, (f"{method}Request", f"{method}Response"))
    return _CLASSES[request], _CLASSES[response]


def _entries(table: str) -> Iterator[tuple[str, str]]:
    """Each table entry as (head, body), continuation lines joined."""
    for line in table.strip().replace("\n    ", " ").splitlines():
        head, _, body = line.partition(":")
        yield head, body.strip()


def _add_enum(file: Any, name: str, body: str) -> None:
    enum = file.enum_type.add(name=name)
    for item in body.split(", "):
        label, number = item.split()
        enum.value.add(name=label, number=int(number))


def _set_type(field: Any, kind: str, enums: frozenset[str]) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
        return
    field.type = _Field.TYPE_ENUM if kind in enums else _Field.TYPE_MESSAGE
    field.type_name = f".{PACKAGE}.{kind}"


def _add_map(message: Any, field: Any, value_kind: str, enums: frozenset[str]) -> None:
    camel = "".join(part.capitalize() for part in field.name.split("_"))
    entry = message.nested_type.add(name=f"{camel}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
    _set_type(
        entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL), value_kind, enums
    )
    field.label = _Field.LABEL_REPEATED
    field.type = _Field.TYPE_MESSAGE
    field.type_name = f".{PACKAGE}.{message.name}.{camel}Entry"


def _add_message(file: Any, name: str, body: str, enums: frozenset[str]) -> None:
    message = file.message_type.add(name=name)
    for item in filter(None, body.split("; ")):
        number, field_name, kind = item.split()
        field = message.field.add(name=field_name, number=int(number), label=_Field.LABEL_OPTIONAL)
        if kind.startswith("map:"):
            _add_map(message, field, kind.removeprefix("map:"), enums)
            continue
        if kind.startswith("[]"):
            field.label = _Field.LABEL_REPEATED
        _set_type(field, kind.removeprefix("[]"), enums)


def _build() -> tuple[dict[str, Any], dict[str, int]]:
    file = _File(name="winkube/cri.proto", package=PACKAGE, syntax="proto3")
    enums = dict(_entries(cri_table.ENUMS))
    for name, body in enums.items():
        _add_enum(file, name, body)
    for name, body in _entries(cri_table.MESSAGES):
        _add_message(file, name, body, frozenset(enums))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindFileByName(file.name)
    classes = {
        name: message_factory.GetMessageClass(found)
        for name, found in descriptor.message_types_by_name.items()
    }
    constants = {
        value.name: value.number
        for enum in descriptor.enum_types_by_name.values()
        for value in enum.values
    }
    return classes, constants


_CLASSES, _CONSTANTS = _build()
globals().update(_CLASSES)
globals().update(_CONSTANTS)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"the CRI has no message or constant {name!r}")
