"""The one place where the end of a command becomes a sentence and an exit code.

Usage errors are left to the option parser; what a command itself raises is met here, inside it,
because the parser's own error classes differ between its versions.
"""

import functools
import sys
from collections.abc import Callable
from typing import Final, ParamSpec

from winkube.base.errors import WinkubeError

P = ParamSpec("P")
_INTERRUPTED: Final = 130  # as a shell counts SIGINT
_UNFINISHED: Final = {
    "up": "; 'winkube up' goes on from here, 'winkube down' cleans up",
    "down": "; 'winkube down' goes on from here",
}


def tell_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Give a command an ending that a person can read."""

    @functools.wraps(command)
    def told(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt:
            hint = _UNFINISHED.get(command.__name__, "")
            print(f"\nwinkube: stopped by you{hint}", file=sys.stderr)
            sys.exit(_INTERRUPTED)
        except BrokenPipeError:
            raise
        except (WinkubeError, OSError) as error:
            sys.exit(f"winkube: {error}")

    return told
