"""What of Wine's own files is changed so that programs meet Windows: data, and a plan for each."""

from collections.abc import Callable, Mapping
from typing import Final

from winkube.machines.personality import Personality
from winkube.machines.wine.messages import MESSAGES
from winkube.machines.wine.module import (
    always_jump,
    remove_jump,
    replace_constants,
    replace_messages,
    replace_string,
    treat_alike,
)
from winkube.machines.wine.recipe import BUILTINS, UNIX_LIBRARIES

# path below the root -> how the file there is changed
Modules = Mapping[str, Callable[[bytes], bytes]]
_Pairs = tuple[tuple[str, str], ...]


def plan_version(personality: Personality) -> Modules:
    """The words of ``ver`` and of the shell's greeting; no setting changes them."""

    def change(image: bytes) -> bytes:
        words = f"Microsoft Windows [Version %1!S!.{personality.revision}]"
        return replace_string(image, "Microsoft Windows %1!S!", words)

    return {f"{BUILTINS}/cmd.exe": change}


def _hidden(*names: str) -> _Pairs:
    """Names with an equals sign first are not shown, like those of the drives' current folders."""
    return tuple((f"WINE{name}\0", f"=INE{name}\0") for name in names)


_SPEAKER: Final = f"{BUILTINS}/kernelbase.dll"  # it has the messages of errors
_NO_UPDATE: Final = "wine: failed to update %s, wine.inf not found\n\0"

# Wine's Unix side gives every process variables that its Windows side reads. Programs must not see
# them, so writer and readers agree on hidden names. Left alone are readers that no container has a
# use for: they look for a browser engine, make menus or install Wine's own files.
_CONSTANTS: Final[Mapping[str, _Pairs]] = {
    f"{UNIX_LIBRARIES}/ntdll.so": (
        *_hidden("CONFIGDIR", "DATADIR", "DLLDIR%u", "HOMEDIR", "LOADER", "SYSTEMDLLPATH"),
        *_hidden("UNIXCP", "USERLOCALE", "USERNAME"),
        ("C:\\windows\0", "C:\\Windows\0"),  # SystemRoot, whatever the parent says
    ),
    f"{BUILTINS}/ntdll.dll": _hidden("DLLDIR%u", "SYSTEMDLLPATH", "USERLOCALE"),
    _SPEAKER: _hidden("UNIXCP", "USERLOCALE", "USERNAME"),
    f"{BUILTINS}/advapi32.dll": _hidden("USERNAME"),
    # It looks for its own files at every start and says aloud that it has not found them.
    f"{BUILTINS}/wineboot.exe": ((_NO_UPDATE, "\0" * len(_NO_UPDATE)),),
}


def plan_constants() -> Modules:
    """Files that fit each other only when all of them are changed."""

    def to_change(path: str, pairs: _Pairs) -> Callable[[bytes], bytes]:
        def change(image: bytes) -> bytes:
            for old, new in pairs:
                image = replace_constants(image, old, new)
            # One file has one plan: the later of two would undo the earlier.
            return _change_speaker(image) if path == _SPEAKER else image

        return change

    return {path: to_change(path, pairs) for path, pairs in _CONSTANTS.items()}


def _change_speaker(image: bytes) -> bytes:
    """Windows' words; and a program that a shutdown ends has Ctrl+C's exit code, as on Windows.

    Wine gives it code 0: a pod that was told to stop would have succeeded, and so would its Job.
    """
    is_break = bytes.fromhex("83fb01")
    exit_with_0 = rb"\x31\xc9\xff\x15.{4}"
    exit_as_for_ctrl_c = rb"\xb9\x3a\x01\x00\xc0\xff\x15"
    image = always_jump(image, is_break, exit_with_0 + exit_as_for_ctrl_c)
    return replace_messages(image, MESSAGES)


def plan_prefixes() -> Modules:
    """Let GetAdaptersAddresses list on-link routes of any length.

    Debian's Wine 10 calls one of length 0 invalid data, and Linux has such a route (to nowhere, on
    the loopback) in every namespace: Go's ``net.Interfaces`` for one would always fail.
    """
    length_is_zero = bytes.fromhex("4585f6")
    fill_prefix = bytes.fromhex("c70028000000488d4028")

    def change(image: bytes) -> bytes:
        return remove_jump(image, length_is_zero, fill_prefix)

    return {f"{BUILTINS}/iphlpapi.dll": change}


_UDP_CONNRESET, _UDP_NETRESET = 0x9800000C, 0x9800000F
_SET_COMPATIBILITY_MODE: Final = 0x9800012C


def plan_datagrams() -> Modules:
    """Let programs say that unreachable networks are no errors of a UDP socket.

    Go's library asks for this and has no UDP without it. Wine 10 knows its older sister
    (unreachable ports) and says yes to it; Linux does neither to sockets that are not connected.
    """

    def change(image: bytes) -> bytes:
        return treat_alike(image, _UDP_NETRESET, _UDP_CONNRESET, _SET_COMPATIBILITY_MODE)

    return {f"{BUILTINS}/ws2_32.dll": change}
