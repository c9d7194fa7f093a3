"""The garbage collector of a process that holds large caches of plain data."""

import gc


def tune_collector() -> None:
    """Look for reference cycles less often: requests make many short-lived objects and no cycles.

    What is there now, such as modules and schemas, lives as long as the process: it is not looked
    at again. Without this every few hundred parsed objects cost a walk through all that is cached.
    No last collection before that: it would copy pages that a fork shares with its parent.
    """
    gc.freeze()
    gc.set_threshold(10_000, 100, 50)
