"""The supervisor forks after it has loaded these: nothing that breaks a fork may be among them."""

import subprocess
import sys

_LOAD = """
import gc, sys, threading
from winkube.cluster.preload import API, CONTROL, MODULES, Preload
code = Preload()
code.load_while(lambda: False)
assert set(API) <= set(sys.modules)
assert "winkube.controllers.manager" not in sys.modules, "loaded before it was time"
code.load(CONTROL)
assert set(CONTROL) <= set(sys.modules) and not code.done
assert "winkube.kubelet.kubelet" not in sys.modules, "loaded before it was time"
code.load_while(lambda: True)
assert set(MODULES) <= set(sys.modules) and code.done
assert not [name for name in sys.modules if name.split(".")[0] in ("grpc", "_cython")], "gRPC"
assert threading.active_count() == 1, "threads"
assert gc.isenabled() and gc.get_freeze_count() > 10_000
"""


def test_preloaded_modules_bring_neither_grpc_nor_threads() -> None:
    done = subprocess.run([sys.executable, "-c", _LOAD], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
