"""The supervisor forks after it has loaded these: nothing that breaks a fork may be among them."""

import os
import subprocess
import sys
from pathlib import Path

from winkube.cluster.handshake import shake_hands
from winkube.testing.keys import Keys

_LOAD = """
import gc, os, sys
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
assert len(os.listdir("/proc/self/task")) == 1, "threads"
assert gc.isenabled() and gc.get_freeze_count() > 10_000
assert os.environ.get("SSL_CERT_FILE") == sys.argv[1]
import aiohttp.connector
assert not aiohttp.connector._SSL_CONTEXT_VERIFIED.get_ca_certs(), "authorities"
from winkube.runtime.oci.registry import public_context
assert len(public_context().get_ca_certs()) == 1
"""

# One fork serves, another asks, as a runtime and a kubelet do.
_FORK = """
import asyncio, os, sys
from winkube.cluster.preload import Preload
Preload().load()
import grpc, grpc.aio

async def echo(request, context):
    return request

async def serve():
    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(echo)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("a", {"b": handler})])
    server.add_insecure_port(sys.argv[1])
    await server.start()
    await server.wait_for_termination()

async def ask():
    async with grpc.aio.insecure_channel(sys.argv[1]) as channel:
        assert await channel.unary_unary("/a/b")(b"x", timeout=60, wait_for_ready=True) == b"x"

def fork(part):
    pid = os.fork()
    if not pid:
        asyncio.run(part())
        os._exit(0)
    return pid

server = fork(serve)
try:
    assert os.waitpid(fork(ask), 0)[1] == 0
finally:
    os.kill(server, 9)
"""


def _run(program: str, argument: object, **environment: str) -> None:
    argv = [sys.executable, "-c", program, str(argument)]
    env = {**os.environ, **environment}
    done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stderr


def test_preloaded_modules_bring_no_threads_and_no_authorities(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    keys.write()
    _run(_LOAD, keys.ca, SSL_CERT_FILE=str(keys.ca))


def test_forks_of_one_that_has_loaded_grpc_may_use_it(tmp_path: Path) -> None:
    _run(_FORK, f"unix:{tmp_path}/socket", GRPC_ENABLE_FORK_SUPPORT="true")


def test_the_handshake_is_one_of_todays_protocol() -> None:
    assert shake_hands() == "TLSv1.3"
