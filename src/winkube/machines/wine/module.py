"""Change words in Wine's own programs and libraries (PE files), byte for byte elsewhere the same.

Where a sentence of Wine's differs from Windows' and no setting changes it, the file itself is
what there is to change. A string of a resource may grow: the changed tables go to a section of
their own at the end of the file, and the resource directory points there.
"""

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from winkube.machines.wine.errors import ModuleError

_STRINGS: Final = 6  # RT_STRING
_MESSAGES: Final = 11  # RT_MESSAGETABLE
_ENGLISH: Final = 9
_TABLE: Final = 16  # strings of one resource
_SUBFOLDER: Final = 1 << 31
_SECTION: Final = struct.Struct("<8sIIIIIIHHI")
_DATA_ENTRY: Final = struct.Struct("<IIII")
_READABLE_DATA: Final = 0x40000040
_NO_OPERATION: Final = bytes.fromhex("660f1f440000")  # as long as the jump
_RESOURCES: Final = 2  # the index of their directory in the optional header


def replace_constants(image: bytes, old: str, new: str) -> bytes:
    """Replace every constant that begins with ``old``, narrow or wide, by one just as long."""
    # After a letter it would be the end of a longer word. Wide ones cannot be told apart: a narrow
    # constant may end right before them.
    narrow = re.compile(rb"(?<![!-~])" + re.escape(old.encode()))
    found = new.encode().join(narrow.split(image))
    found = found.replace(old.encode("utf-16-le"), new.encode("utf-16-le"))
    if found == image or len(found) != len(image):
        raise ModuleError(f"there is no {old!r} to replace by {new!r}")
    return found


def replace_string(image: bytes, old: str, new: str) -> bytes:
    """Replace part of a string in the string tables of every language."""
    try:
        return _replace_string(image, lambda text: text.replace(old, new))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ModuleError(f"not a program file: {error}") from error


def remove_jump(image: bytes, before: bytes, after: bytes) -> bytes:
    """Never take the conditional jump between these instructions, which must occur just once."""
    jumps = re.compile(rb"(?s)(?<=%s)\x0f\x84.{4}(?=%s)" % (re.escape(before), re.escape(after)))
    if len(jumps.findall(image)) != 1:
        raise ModuleError("the instructions to change are not there, or more than once")
    return _NO_OPERATION.join(jumps.split(image))


def always_jump(image: bytes, before: bytes, after: bytes) -> bytes:
    """Take the short conditional jump between these instructions, which must occur just once.

    ``after`` is a pattern: the addresses in it are the linker's.
    """
    jumps = re.compile(rb"(?s)(?<=%s)\x76(?=.%s)" % (re.escape(before), after))
    if len(jumps.findall(image)) != 1:
        raise ModuleError("the instructions to change are not there, or more than once")
    return jumps.sub(b"\xeb", image)


def treat_alike(image: bytes, code: int, like: int, instead_of: int) -> bytes:
    """Let a function that tells numbers apart treat ``code`` as it treats ``like``.

    The place is that of ``instead_of``, a number for which it does nothing but skip a line of its
    log. Its last comparison becomes ours; those who jump into its middle still fail as before::

        cmp ebx, instead_of          cmp ebx, code
        je  fail                     je  alike
        test log; jne write          jmp fail
                                     alike: jmp to where ``like`` goes
        fail:                        fail:
    """
    compare = b"\x81\xfb%s"  # ebx with a number
    old = (
        re.escape(compare % struct.pack("<I", instead_of))
        + rb"\x74\x0d\xf6\x05.{4}\x01\x0f\x85.{4}"
    )
    known = re.escape(compare % struct.pack("<I", like)) + rb"\x0f\x84(.{4})"
    places = [*re.finditer(old, image, re.DOTALL)]
    targets = [*re.finditer(known, image, re.DOTALL)]
    if len(places) != 1 or len(targets) != 1:
        raise ModuleError("the comparisons to change are not there, or more than once")
    (place,), (target,) = places, targets
    goal = target.end() + struct.unpack("<i", target[1])[0]
    head = compare % struct.pack("<I", code) + b"\x74\x02\xeb\x0b\xe9"
    jump = struct.pack("<i", goal - (place.start() + len(head) + 4))
    new = head + jump + _NO_OPERATION
    return image[: place.start()] + new + image[place.end() :]


def strings_of(image: bytes) -> list[str]:
    """All strings of all string tables, for checks and tests."""
    module = _Module.parse(image)
    return [text for _, entry in module.tables() for text in _split(module.content(entry)) if text]


def replace_messages(image: bytes, texts: Mapping[int, str]) -> bytes:
    """Give these messages of the English tables these texts; the other numbers stay."""

    def change(language: int, table: bytes) -> bytes:
        return _change_messages(table, texts) if language & 0x3FF == _ENGLISH else table

    try:
        return _replace_tables(image, _MESSAGES, change)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ModuleError(f"not a program file: {error}") from error


def messages_of(table: bytes) -> dict[int, bytes]:
    """Number -> flags and text of each message (Microsoft: MESSAGE_RESOURCE_DATA)."""
    found = {}
    (blocks,) = struct.unpack_from("<I", table, 0)
    for block in range(blocks):
        first, last, at = struct.unpack_from("<III", table, 4 + 12 * block)
        for number in range(first, last + 1):
            (length,) = struct.unpack_from("<H", table, at)
            found[number] = table[at + 2 : at + length]
            at += length
    return found


def _change_messages(table: bytes, texts: Mapping[int, str]) -> bytes:
    messages = messages_of(table)
    for number, text in texts.items():
        messages[number] = struct.pack("<H", 1) + f"{text}\n\0".encode("utf-16-le")
    runs = _runs(sorted(messages))
    heads, body = struct.pack("<I", len(runs)), bytearray()
    for run in runs:
        heads += struct.pack("<III", run[0], run[-1], 4 + 12 * len(runs) + len(body))
        for number in run:
            entry = messages[number]
            entry += b"\0" * (-(len(entry) + 2) % 4)
            body += struct.pack("<H", len(entry) + 2) + entry
    return bytes(heads + body)


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Numbers without a gap together."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _replace_string(image: bytes, change: Callable[[str], str]) -> bytes:
    return _replace_tables(
        image, _STRINGS, lambda _, table: _join([change(text) for text in _split(table)])
    )


def _replace_tables(image: bytes, kind: int, change: Callable[[int, bytes], bytes]) -> bytes:
    module = _Module.parse(image)
    data, added = bytearray(image), bytearray()
    begin = module.end_of_memory()
    for language, entry in module.tables(kind):
        before = module.content(entry)
        after = change(language, before)
        if after == before:
            continue
        _, _, code_page, reserved = _DATA_ENTRY.unpack_from(image, entry)
        place = begin + len(added)
        _DATA_ENTRY.pack_into(data, entry, place, len(after), code_page, reserved)
        added += after + b"\0" * (-len(after) % 8)
    if not added:
        raise ModuleError("no table has the words to replace")
    return module.append(data, bytes(added))


def _split(table: bytes) -> list[str]:
    texts, at = [], 0
    for _ in range(_TABLE):
        (length,) = struct.unpack_from("<H", table, at)
        texts.append(table[at + 2 : at + 2 + 2 * length].decode("utf-16-le"))
        at += 2 + 2 * length
    return texts


def _join(texts: list[str]) -> bytes:
    coded = [text.encode("utf-16-le") for text in texts]
    return b"".join(struct.pack("<H", len(text) // 2) + text for text in coded)


@dataclass(frozen=True, slots=True)
class _Module:
    """The parts of a PE file that lead to its resources (Microsoft's PE format specification)."""

    image: bytes
    header: int  # where the file header begins
    optional: int
    sections: tuple[tuple[int, int, int], ...]  # memory address, size in the file, place there
    table: int  # where the section table begins

    @classmethod
    def parse(cls, image: bytes) -> "_Module":
        (header,) = struct.unpack_from("<I", image, 0x3C)
        if image[:2] != b"MZ" or image[header : header + 4] != b"PE\0\0":
            raise ModuleError("not a program file")
        count, optional_size = struct.unpack_from("<2xH12xH", image, header + 4)
        optional = header + 24
        if image[optional : optional + 2] != b"\x0b\x02":
            raise ModuleError("not a 64-bit program file")
        table = optional + optional_size
        rows = [_SECTION.unpack_from(image, table + 40 * index) for index in range(count)]
        sections = tuple((row[2], row[3], row[4]) for row in rows)
        return cls(image, header, optional, sections, table)

    def _alignments(self) -> tuple[int, int]:
        in_memory, in_file = struct.unpack_from("<II", self.image, self.optional + 32)
        return in_memory, in_file

    def end_of_memory(self) -> int:
        (size,) = struct.unpack_from("<I", self.image, self.optional + 56)
        return int(size)

    def _place(self, address: int) -> int:
        """Where in the file an address of memory is."""
        for start, size, place in self.sections:
            if start <= address < start + size:
                return place + address - start
        raise ModuleError(f"address {address:#x} is in no section")

    def content(self, entry: int) -> bytes:
        address, size, _, _ = _DATA_ENTRY.unpack_from(self.image, entry)
        place = self._place(address)
        return self.image[place : place + size]

    def tables(self, wanted: int = _STRINGS) -> Iterator[tuple[int, int]]:
        """Language and data entry of each table of this kind."""
        directories = self.optional + 112
        (address,) = struct.unpack_from("<I", self.image, directories + 8 * _RESOURCES)
        root = self._place(address)
        for kind, types in self._entries(root, 0):
            if kind == wanted:
                for _, names in self._entries(root, types):
                    for language, entry in self._entries(root, names):
                        yield language, root + entry

    def _entries(self, root: int, folder: int) -> Iterator[tuple[int, int]]:
        at = root + (folder & ~_SUBFOLDER)
        named, numbered = struct.unpack_from("<12xHH", self.image, at)
        for index in range(named + numbered):
            number, target = struct.unpack_from("<II", self.image, at + 16 + 8 * index)
            yield number, target

    def append(self, data: bytearray, content: bytes) -> bytes:
        """Add a section with the content at the end of the file and of memory."""
        in_memory, in_file = self._alignments()
        count = len(self.sections)
        row = self.table + 40 * count
        (headers,) = struct.unpack_from("<I", self.image, self.optional + 60)
        if row + 40 > headers or any(self.image[row : row + 40]):
            raise ModuleError("the file has no room for another section")
        begin = self.end_of_memory()
        data += b"\0" * (-len(data) % in_file)
        padded = content + b"\0" * (-len(content) % in_file)
        _SECTION.pack_into(
            data,
            row,
            *(b".words", len(content), begin, len(padded), len(data), 0, 0, 0, 0, _READABLE_DATA),
        )
        data += padded
        struct.pack_into("<H", data, self.header + 6, count + 1)
        size = begin + len(content) + -len(content) % in_memory
        struct.pack_into("<I", data, self.optional + 56, size)
        return bytes(data)
