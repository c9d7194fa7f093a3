import errno
import socket
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from winkube.runtime.config import RegistryConfig
from winkube.runtime.oci.registry import Endpoint, fault_words, parse_challenge, plan_endpoints

KEY: Any = SimpleNamespace(host="reg.example", port=443, ssl=True)
UNKNOWN = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('10.0.0.1', 443)")


def test_mirrors_come_first_and_get_no_credentials() -> None:
    config = RegistryConfig(mirrors={"docker.io": ("http://10.0.0.1:5000/", "mirror.example")})
    assert plan_endpoints("docker.io", config) == [
        Endpoint("http://10.0.0.1:5000", trusted=False),
        Endpoint("https://mirror.example", trusted=False),
        Endpoint("https://registry-1.docker.io"),
    ]


def test_plain_http_is_for_this_machine_and_for_hosts_named_so() -> None:
    config = RegistryConfig(insecure=frozenset({"reg.example:5000"}))
    for host in ("localhost:5000", "127.0.0.1:5000", "reg.example:5000"):
        assert plan_endpoints(host, config) == [Endpoint(f"http://{host}")]
    assert plan_endpoints("reg.example", config) == [Endpoint("https://reg.example")]


def test_a_bearer_challenge_is_taken_apart() -> None:
    scheme, fields = parse_challenge('Bearer realm="https://a/token",service="r",scope="pull,x"')
    assert scheme == "bearer"
    assert fields == {"realm": "https://a/token", "service": "r", "scope": "pull,x"}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            aiohttp.ClientConnectorDNSError(KEY, UNKNOWN),
            "dial tcp: lookup reg.example: no such host",
        ),
        (
            aiohttp.ClientConnectorError(KEY, REFUSED),
            "dial tcp reg.example:443: connect: connection refused",
        ),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_registry_out_of_reach_is_told_in_known_words(error: Exception, words: str) -> None:
    assert fault_words(error) == words
