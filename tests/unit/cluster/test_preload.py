"""The supervisor forks after it has loaded these: nothing that breaks a fork may be among them."""

import subprocess
import sys

_LOAD = """
import gc, sys, threading
from winkube.cluster.preload import MODULES, preload
preload()
assert set(MODULES) <= set(sys.modules)
assert not [name for name in sys.modules if name.split(".")[0] in ("grpc", "_cython")], "gRPC"
assert threading.active_count() == 1, "threads"
assert gc.isenabled() and gc.get_freeze_count() > 10_000
"""


def test_preloaded_modules_bring_neither_grpc_nor_threads() -> None:
    done = subprocess.run([sys.executable, "-c", _LOAD], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
