"""What the system allows a process."""

import resource


def allow_open_files() -> None:
    """As many as this user may have: every watch, log and session is a connection.

    The usual limit is small for the sake of programs that count descriptors in a bit set. Go's
    runtime does the same for upstream's components.
    """
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
