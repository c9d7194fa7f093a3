"""How the kernel hands out the processor to a process of ours."""

import contextlib
import os


def work_in_batches() -> None:
    """Finish what is at hand before the next turn: for processes that feed each other.

    The parts of a control plane wake each other with every message. By default the one that is
    woken interrupts the one that runs, and both go through their caches and locks for a single
    message; in this mode it waits for the next free moment and finds several. Threads and children
    begun later do the same: not for what runs programs of others.
    """
    with contextlib.suppress(OSError):  # a container may lack the right; it is a courtesy
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
