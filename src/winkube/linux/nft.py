"""nftables: whole rulesets as text, applied in one kernel transaction.

``apply`` runs the ``nft`` program. ``Session`` keeps libnftables (which the program itself is made
of) loaded in this process, for callers that change a few elements thousands of times.
"""

import ctypes

from winkube.aio.command import CommandError
from winkube.linux.command import run
from winkube.linux.netns import netns_path


def _nft(netns: str | None, *words: str) -> list[str]:
    prefix = ["nsenter", f"--net={netns_path(netns)}"] if netns else []
    return [*prefix, "nft", *words]


def apply(ruleset: str, netns: str | None = None) -> None:
    """Apply the text atomically: all of it or, with an error, none."""
    run(_nft(netns, "-f", "-"), stdin=ruleset)


def delete_table(family: str, name: str, netns: str | None = None) -> None:
    """Remove the table; an absent one is not an error."""
    # Adding first makes the pair work whether or not the table is there.
    apply(f"add table {family} {name}\ndelete table {family} {name}\n", netns)


class Session:
    """libnftables in this process, acting on the namespace of the thread that calls it."""

    def __init__(self) -> None:
        self._library: ctypes.CDLL | None = None
        self._context: ctypes.c_void_p | None = None

    def apply(self, ruleset: str) -> None:
        """Apply the text atomically; falls back to the program where the library is missing."""
        library = self._load()
        if library is None:
            apply(ruleset)
            return
        if library.nft_run_cmd_from_buffer(self._context, ruleset.encode()) != 0:
            message = library.nft_ctx_get_error_buffer(self._context) or b""
            raise CommandError(["nft"], 1, message.decode(errors="replace"))

    def _load(self) -> ctypes.CDLL | None:
        if self._library is not None:
            return self._library
        try:
            library = ctypes.CDLL("libnftables.so.1")
        except OSError:
            return None
        library.nft_ctx_new.restype = ctypes.c_void_p
        library.nft_ctx_new.argtypes = [ctypes.c_uint32]
        library.nft_run_cmd_from_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        for name in ("nft_ctx_buffer_error", "nft_ctx_buffer_output"):
            getattr(library, name).argtypes = [ctypes.c_void_p]
        library.nft_ctx_get_error_buffer.argtypes = [ctypes.c_void_p]
        library.nft_ctx_get_error_buffer.restype = ctypes.c_char_p
        context = ctypes.c_void_p(library.nft_ctx_new(0))
        library.nft_ctx_buffer_error(context)
        library.nft_ctx_buffer_output(context)
        self._library, self._context = library, context
        return library
