import struct

import pytest

from winkube.machines.personality import find_personality
from winkube.machines.wine.errors import ModuleError
from winkube.machines.wine.messages import MESSAGES
from winkube.machines.wine.module import (
    always_jump,
    messages_of,
    remove_jump,
    replace_constants,
    replace_messages,
    replace_string,
    strings_of,
    treat_alike,
)
from winkube.machines.wine.words import plan_constants, plan_version


def make_table(*texts: str) -> bytes:
    padded = [*texts, *[""] * (16 - len(texts))]
    coded = [text.encode("utf-16-le") for text in padded]
    return b"".join(struct.pack("<H", len(text) // 2) + text for text in coded)


def make_folder(number: int, target: int) -> bytes:
    return struct.pack("<12xHH", 0, 1) + struct.pack("<II", number, target)


def make_program(table: bytes, *, headers: int = 0x400, kind: int = 6) -> bytes:
    """The least file that has one string table: type, name and language folders, then the data."""
    start = 0x1000
    resources = make_folder(kind, 1 << 31 | 24) + make_folder(1, 1 << 31 | 48)
    resources += make_folder(0x409, 72) + struct.pack("<IIII", start + 88, len(table), 0, 0) + table
    resources += b"\0" * (-len(resources) % 0x200)
    optional = bytearray(240)
    struct.pack_into("<H", optional, 0, 0x20B)
    struct.pack_into("<II", optional, 32, 0x1000, 0x200)
    struct.pack_into("<II", optional, 56, 0x2000, headers)
    struct.pack_into("<II", optional, 112 + 16, start, len(resources))
    section = struct.pack("<8sIIII16x", b".rsrc", len(resources), start, len(resources), 0x400)
    head = b"MZ" + b"\0" * 0x3A + struct.pack("<I", 0x40)
    head += b"PE\0\0" + struct.pack("<HH12xHH", 0x8664, 1, 240, 0) + optional + section
    return head.ljust(0x400, b"\0") + resources


def test_a_string_may_grow_and_the_others_stay() -> None:
    program = make_program(make_table("first", "Microsoft Windows %1!S!\n", "last"))
    changed = next(iter(plan_version(find_personality("ltsc2019")).values()))(program)
    assert strings_of(changed) == ["first", "Microsoft Windows [Version %1!S!.6893]\n", "last"]
    again = replace_string(changed, "last", "the very last")
    assert strings_of(again)[2] == "the very last"


def test_a_program_without_the_words_is_refused() -> None:
    with pytest.raises(ModuleError, match="words"):
        replace_string(make_program(make_table("first")), "second", "third")


def test_a_file_without_room_for_a_section_is_refused() -> None:
    program = make_program(make_table("first"), headers=0x180)
    with pytest.raises(ModuleError, match="room"):
        replace_string(program, "first", "second")


@pytest.mark.parametrize("data", [b"", b"MZ", b"MZ" + b"\xff" * 200, b"#!/bin/sh\n" * 20])
def test_a_file_that_is_no_program_is_refused(data: bytes) -> None:
    with pytest.raises(ModuleError, match="not a"):
        replace_string(data, "a", "b")


def test_names_of_constants_change_narrow_and_wide() -> None:
    wide, hidden = (f"{name}\0".encode("utf-16-le") for name in ("WINEUSERNAME", "=INEUSERNAME"))
    image = b"\0XWINEUSERNAME\0WINEUSERNAME\0" + wide
    assert replace_constants(image, "WINEUSERNAME\0", "=INEUSERNAME\0") == (
        b"\0XWINEUSERNAME\0=INEUSERNAME\0" + hidden
    )
    with pytest.raises(ModuleError):
        replace_constants(image, "WINELOADER\0", "=INELOADER\0")


def test_every_reader_of_a_hidden_variable_is_changed_with_its_writer() -> None:
    names = {path.rpartition("/")[2] for path in plan_constants()}
    assert {"ntdll.so", "ntdll.dll", "kernelbase.dll", "advapi32.dll"} <= names


def test_a_jump_becomes_nothing_where_it_is_the_only_one() -> None:
    code = b"\x90before\x0f\x84\x01\n\x03\x04after\x90"
    changed = remove_jump(code, b"before", b"after")
    assert len(changed) == len(code)
    assert b"\x0f\x84" not in changed
    for other in (code + code, changed):
        with pytest.raises(ModuleError):
            remove_jump(other, b"before", b"after")


def test_a_jump_is_always_taken_where_it_is_the_only_one() -> None:
    code = b"\x90before\x76\x08call\n\x03\x04\x05after\x90"
    changed = always_jump(code, b"before", rb"call.{4}after")
    assert changed == code.replace(b"\x76", b"\xeb")
    for other in (code + code, changed):
        with pytest.raises(ModuleError):
            always_jump(other, b"before", rb"call.{4}after")


def test_a_number_is_treated_like_another() -> None:
    compare = b"\x81\xfb"
    like = compare + (0x9800000C).to_bytes(4, "little") + b"\x0f\x84" + (100).to_bytes(4, "little")
    log = b"\xf6\x05abcd\x01" + b"\x0f\x85efgh"
    spare = compare + (0x9800012C).to_bytes(4, "little") + b"\x74\x0d" + log
    image = b"<" + like + b"-----" + spare + b">"
    changed = treat_alike(image, 0x9800000F, 0x9800000C, 0x9800012C)
    assert len(changed) == len(image)
    at = len(b"<" + like + b"-----")
    assert changed[:at] == image[:at]
    assert changed[at : at + 6] == compare + (0x9800000F).to_bytes(4, "little")
    assert changed[at + 6 : at + 10] == b"\x74\x02\xeb\x0b"  # over the jump to the failure
    jump = int.from_bytes(changed[at + 11 : at + 15], "little", signed=True)
    assert at + 15 + jump == 1 + len(like) + 100
    assert changed[at + 10] == 0xE9
    assert changed[at + len(spare) :] == b">"
    with pytest.raises(ModuleError, match="not there"):
        treat_alike(b"nothing", 0x9800000F, 0x9800000C, 0x9800012C)


def make_messages(messages: dict[int, str]) -> bytes:
    """One block for each number, as a message compiler may write them."""
    coded = {
        number: struct.pack("<H", 1) + text.encode("utf-16-le") for number, text in messages.items()
    }
    heads, body = struct.pack("<I", len(coded)), b""
    for number, entry in coded.items():
        heads += struct.pack("<III", number, number, 4 + 12 * len(coded) + len(body))
        padded = entry + b"\0" * (-(len(entry) + 2) % 4)
        body += struct.pack("<H", len(padded) + 2) + padded
    return heads + body


def test_messages_get_longer_texts_and_new_numbers() -> None:
    table = make_messages({4: "Four.\n", 5: "Access denied.\n", 9: "Nine.\n"})
    image = make_program(table, kind=11)
    changed = replace_messages(image, {5: "Access is denied.", 7: "Seven."})
    appended = changed[len(image) + -len(image) % 0x200 :]
    texts = {
        number: entry[2:].decode("utf-16-le").rstrip("\0")
        for number, entry in messages_of(appended).items()
    }
    assert texts == {4: "Four.\n", 5: "Access is denied.\n", 7: "Seven.\n", 9: "Nine.\n"}


def test_the_words_of_errors_are_sentences() -> None:
    assert all(text.endswith(".") and text[0].isupper() for text in MESSAGES.values())
