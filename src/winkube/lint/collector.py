"""Keep Python's cycle collector out of the way of large documents.

A document is hundreds of thousands of small values without a circle among them. They go when their
document goes; looking for circles in them took almost half of the time.
"""

import contextlib
import gc
from collections.abc import Iterator
from typing import Final

_THRESHOLDS: Final = (200_000, 20, 20)


@contextlib.contextmanager
def calm_collector() -> Iterator[None]:
    """Collect rarely, and never what is there already (the rules, the modules)."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
