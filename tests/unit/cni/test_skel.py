import json
from typing import Any

import pytest

from winkube.cni import skel
from winkube.cni.skel import Call

ENVIRON = {
    "CNI_COMMAND": "ADD",
    "CNI_CONTAINERID": "a",
    "CNI_NETNS": "n",
    "CNI_IFNAME": "eth0",
    "CNI_PATH": "/",
}
CONF: dict[str, Any] = {"cniVersion": "1.0.0", "name": "net", "type": "x"}


def nothing(call: Call) -> None:
    assert call.conf["name"] == "net"


def run(environ: dict[str, str] | None = None, conf: Any = None) -> tuple[int, dict[str, Any]]:
    text = conf if isinstance(conf, str) else json.dumps(CONF | (conf or {}))
    code, out = skel.run({"ADD": nothing, "CHECK": nothing}, ENVIRON | (environ or {}), text)
    return code, json.loads(out) if out else {}


def test_a_verb_without_result_prints_nothing() -> None:
    assert run() == (0, {})


@pytest.mark.parametrize(
    ("environ", "conf", "code"),
    [
        ({"CNI_COMMAND": ""}, {}, 4),
        ({"CNI_COMMAND": "DANCE"}, {}, 4),
        ({"CNI_CONTAINERID": ""}, {}, 4),
        ({"CNI_CONTAINERID": "../../etc"}, {}, 4),
        ({"CNI_IFNAME": "a/b"}, {}, 4),
        ({"CNI_IFNAME": "x" * 16}, {}, 4),
        ({}, "not json", 6),
        ({}, "[]", 6),
        ({}, {"name": ""}, 7),
        ({}, {"name": "../up"}, 7),
        ({}, {"cniVersion": "3.0.0"}, 1),
        ({"CNI_COMMAND": "CHECK"}, {"cniVersion": "0.3.1"}, 1),
        ({"CNI_COMMAND": "STATUS"}, {"cniVersion": "1.0.0"}, 1),
    ],
)
def test_failures_have_the_codes_of_the_specification(
    environ: dict[str, str], conf: Any, code: int
) -> None:
    exit_code, error = run(environ, conf)
    assert (exit_code, error["code"]) == (1, code)


def test_missing_variables_are_named() -> None:
    assert run({"CNI_NETNS": ""})[1]["msg"] == "required env variables [CNI_NETNS] missing"


def test_version_needs_no_configuration() -> None:
    code, answer = run({"CNI_COMMAND": "VERSION"}, "")
    assert code == 0
    assert answer["supportedVersions"] == [
        "0.1.0",
        "0.2.0",
        "0.3.0",
        "0.3.1",
        "0.4.0",
        "1.0.0",
        "1.1.0",
    ]


def test_keys_of_the_configuration_bind_in_any_case() -> None:
    text = json.dumps({"CNIVERSION": "0.4.0", "Name": "net", "Type": "x"})
    assert run(conf=text) == (0, {})
