"""The system calls Python 3.11 does not wrap: setns, mount, umount2."""

import ctypes
import os
from functools import cache
from typing import Final

CLONE_NEWNET: Final = 0x40000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC = 0x1, 0x20, 0x1000, 0x4000
MNT_DETACH: Final = 2


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
    libc.umount2.argtypes = [ctypes.c_char_p, ctypes.c_int]
    libc.setns.argtypes = [ctypes.c_int, ctypes.c_int]
    return libc


def _check(result: int, subject: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), subject)


def setns(fd: int, kind: int, subject: str = "") -> None:
    """Move the calling thread into a namespace."""
    _check(_libc().setns(fd, kind), subject)


def mount(source: str, target: str, fstype: str, *, flags: int = 0, options: str = "") -> None:
    result = _libc().mount(
        os.fsencode(source), os.fsencode(target), fstype.encode(), flags, os.fsencode(options)
    )
    _check(result, target)


def umount(target: str, *, flags: int = 0) -> None:
    _check(_libc().umount2(os.fsencode(target), flags), target)
