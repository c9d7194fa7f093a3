"""Services of two address families, on an API server that has both."""

import itertools
import json
from typing import Any, Final

from tests.upstream.cases.services import PATH, service, services
from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import merged

FLAGS: Final = ("--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112",)
PREFER: Final = {"ipFamilyPolicy": "PreferDualStack"}
REQUIRE: Final = {"ipFamilyPolicy": "RequireDualStack"}
SINGLE: Final = {"ipFamilyPolicy": "SingleStack"}
FOUR: Final = "10.96.0.77"
SIX: Final = "fd00:96::77"
# Those of which is told who has them: used by one case only.
LAST: Final = ["10.96.9.9", "fd00:96::9999"]
CHOSEN: Final = {"clusterIP": FOUR, "clusterIPs": [FOUR, SIX]}
CHANGES: Final[tuple[dict[str, Any], ...]] = (
    SINGLE,
    PREFER,
    REQUIRE,
    {"ipFamilyPolicy": None},
    {"ipFamilies": ["IPv4"]},
    {"ipFamilies": ["IPv6"]},
    {"ipFamilies": ["IPv4", "IPv6"]},
    {"ipFamilies": ["IPv6", "IPv4"]},
    {"ipFamilies": None},
    {"ipFamilies": ["IPv4"], **SINGLE},
    {"ipFamilies": ["IPv6"], **SINGLE},
    {"ipFamilies": ["IPv4", "IPv6"], **REQUIRE},
    {"ipFamilies": ["IPv6", "IPv4"], **PREFER},
    {"clusterIPs": [FOUR]},
    {"clusterIPs": [FOUR], **SINGLE},
    {"clusterIPs": [FOUR, SIX]},
    {"clusterIPs": [FOUR, SIX], **REQUIRE},
    {"clusterIPs": [FOUR, "fd00:96::78"], **REQUIRE},
    {"clusterIPs": [FOUR, "fd00:97::78"], **REQUIRE},
    {"clusterIPs": [SIX, FOUR], **REQUIRE},
    {"clusterIPs": None},
    {"clusterIP": "", "clusterIPs": None},
    {"clusterIPs": None, "ipFamilies": None},
    {"clusterIP": "None"},
    {"clusterIP": SIX},
    {"type": "NodePort"},
    {"type": "ExternalName", "externalName": "a"},
    {"type": "ExternalName", "externalName": "a", "clusterIP": None, "clusterIPs": None},
    {"selector": {"a": "b"}, **PREFER},
    {"selector": None, **REQUIRE},
)


_numbers = itertools.count(2)


def _own(*rows: Any) -> Any:
    """The same with addresses that no other step uses: what a refused write has taken, upstream
    gives back later, and not at once."""
    number = next(_numbers)
    text = json.dumps(rows).replace(FOUR, f"10.96.{number // 250}.{number % 250}")
    return json.loads(text.replace(SIX, f"fd00:96::{number:x}"))


def _created(name: str, *rows: dict[str, Any]) -> Case:
    return services(name, *(_own(row)[0] for row in rows))


def _changes(name: str, base: dict[str, Any]) -> Case:
    """Each change of a new service, and after it one more by which it is told again.

    Not of a headless one: upstream may try the second change on what was before the first, and
    then warns of that.
    """
    steps = []
    again = Step("PATCH", f"{PATH}/s", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    last = Step("GET", f"{PATH}/s") if base.get("clusterIP") == "None" else again
    for first, change in (_own(base, change) for change in CHANGES):
        steps += [
            Step("POST", PATH, service(first)),
            Step("PATCH", f"{PATH}/s", {"spec": change}, MERGE),
            last,
            Step("DELETE", f"{PATH}/s"),
        ]
    return Case(name, steps, managed=False)


def _replacements(name: str, base: dict[str, Any], *specs: dict[str, Any]) -> Case:
    """A PUT leaves out what it means to keep."""
    steps = []
    for first, then in (_own(base, spec) for spec in specs):
        steps += [
            Step("POST", PATH, service(first)),
            Step("PUT", f"{PATH}/s", service(then)),
            Step("DELETE", f"{PATH}/s"),
        ]
    return Case(name, steps, managed=False)


def _kept(name: str, spec: dict[str, Any], then: dict[str, Any]) -> Case:
    """Whether addresses are free again, or taken still, after a change."""
    first, change, addresses = _own(spec, then, [FOUR, SIX])
    steps = [
        Step("POST", PATH, service(first)),
        Step("PATCH", f"{PATH}/s", {"spec": change}, MERGE),
    ]
    for index, address in enumerate(addresses):
        other = {"metadata": {"name": f"other-{index}"}}
        steps.append(Step("POST", PATH, merged(service({"clusterIP": address}), other)))
    steps += [Step("DELETE", f"{PATH}/{name}") for name in ("s", "other-0", "other-1")]
    return Case(name, steps, managed=False)


CASES = [
    _created(
        "created with families",
        {},
        SINGLE,
        PREFER,
        REQUIRE,
        {"ipFamilies": ["IPv4"]},
        {"ipFamilies": ["IPv6"]},
        {"ipFamilies": ["IPv6"], **PREFER},
        {"ipFamilies": ["IPv6"], **REQUIRE},
        {"ipFamilies": ["IPv4", "IPv6"]},
        {"ipFamilies": ["IPv6", "IPv4"], **PREFER},
        {"ipFamilies": ["IPv6", "IPv4"], **REQUIRE},
        {"ipFamilies": ["IPv4", "IPv6"], **SINGLE},
        {"ipFamilies": ["IPv6", "IPv6"], **REQUIRE},
        {"ipFamilies": [], **REQUIRE},
        {"ipFamilies": ["IPv6", "IPv4"], "type": "NodePort", **REQUIRE},
        {"ipFamilies": ["IPv6", "IPv4"], "type": "LoadBalancer", **PREFER},
        {"ipFamilies": ["IPv6", "IPv4"], "type": "ExternalName", "externalName": "a"},
    ),
    _created(
        "created with addresses",
        {"clusterIP": SIX},
        {"clusterIP": SIX, **REQUIRE},
        {"clusterIP": SIX, **PREFER},
        {"clusterIPs": [SIX, FOUR], "clusterIP": SIX},
        {"clusterIPs": [SIX, FOUR], "clusterIP": SIX, **REQUIRE},
        {"clusterIPs": [SIX, FOUR], "clusterIP": SIX, **SINGLE},
        {"clusterIPs": [FOUR, SIX], "clusterIP": FOUR, **PREFER},
        {"clusterIPs": [FOUR, SIX], "clusterIP": FOUR, **REQUIRE, "ipFamilies": ["IPv4"]},
        {"clusterIPs": [FOUR, SIX], "clusterIP": FOUR, **REQUIRE, "ipFamilies": ["IPv6"]},
        {"clusterIPs": [FOUR, SIX], "clusterIP": FOUR, "ipFamilies": ["IPv6", "IPv4"], **REQUIRE},
        {"clusterIPs": [FOUR, "fd00:97::1"], "clusterIP": FOUR, **REQUIRE},
        {"clusterIPs": ["10.200.0.1", SIX], "clusterIP": "10.200.0.1", **REQUIRE},
        {"clusterIPs": [FOUR, ""], "clusterIP": FOUR, **REQUIRE},
        {"clusterIPs": [FOUR, "None"], "clusterIP": FOUR, **REQUIRE},
        {"clusterIPs": [SIX, "fd00:96::78"], "clusterIP": SIX, **REQUIRE},
        {"clusterIP": "fd00:96::"},
        {"clusterIP": "fd00:96::ffff"},
        {"clusterIP": "fd00:96::1:0"},
        {"clusterIP": "fd00:0096:0:0::99"},
        {"clusterIP": "FD00:96::9A"},
        {"clusterIP": "::ffff:10.96.0.7"},
        {"clusterIP": "::ffff:10.96.0.7", "ipFamilies": ["IPv6"]},
        {"clusterIP": "10.96.0.008"},
    ),
    _created(
        "headless of families",
        {"clusterIP": "None", "selector": {"a": "b"}},
        {"clusterIP": "None", "selector": {"a": "b"}, **PREFER},
        {"clusterIP": "None", "selector": {"a": "b"}, **REQUIRE},
        {"clusterIP": "None", "selector": {"a": "b"}, "ipFamilies": ["IPv6"]},
        {"clusterIP": "None", "selector": {"a": "b"}, "ipFamilies": ["IPv6"], **PREFER},
        {"clusterIP": "None", "selector": {"a": "b"}, "ipFamilies": ["IPv4", "IPv6"]},
        {"clusterIP": "None"},
        {"clusterIP": "None", **SINGLE},
        {"clusterIP": "None", **PREFER},
        {"clusterIP": "None", "ipFamilies": ["IPv6"]},
        {"clusterIP": "None", "ipFamilies": ["IPv6", "IPv4"]},
        {"clusterIP": "None", "ipFamilies": ["IPv6"], **SINGLE},
    ),
    _changes("changes of one family", {"clusterIP": FOUR}),
    _changes("changes of the other family", {"clusterIP": SIX}),
    _changes("changes of two families preferred", {**CHOSEN, **PREFER}),
    _changes("changes of two families required", {**CHOSEN, **REQUIRE}),
    _changes("changes of addresses not chosen", REQUIRE),
    _changes("changes of a headless one", {"clusterIP": "None", "selector": {"a": "b"}}),
    _changes("changes of a bare one", {"clusterIP": "None"}),
    _changes("changes of a name", {"type": "ExternalName", "externalName": "a"}),
    _replacements("replaced single", {}, {}, SINGLE, PREFER, REQUIRE, {"ipFamilies": ["IPv6"]}),
    _replacements(
        "replaced double",
        {**CHOSEN, **REQUIRE},
        {},
        SINGLE,
        PREFER,
        REQUIRE,
        {"ipFamilies": ["IPv4"]},
        {"ipFamilies": ["IPv4"], **SINGLE},
        {"ipFamilies": ["IPv4"], "clusterIP": FOUR},
        {"clusterIP": FOUR},
        {"clusterIP": FOUR, **SINGLE},
        {"clusterIP": FOUR, "clusterIPs": [FOUR], **SINGLE},
        {"clusterIP": SIX, "clusterIPs": [SIX, FOUR], **REQUIRE},
    ),
    _kept("a second address given back", {**CHOSEN, **REQUIRE}, SINGLE),
    _kept("addresses of a service that becomes a name", {**CHOSEN, **REQUIRE}, CHANGES[27]),
    _kept("addresses of a service that keeps them", {**CHOSEN, **REQUIRE}, PREFER),
    _kept("a refused change", {"clusterIP": FOUR}, {"clusterIPs": [FOUR, SIX], "ports": []}),
    Case(
        "rehearsed",
        [
            step
            for spec in ({}, REQUIRE, {**CHOSEN, **REQUIRE}, {"clusterIP": "fd00:97::1"})
            for step in (
                Step("POST", f"{PATH}?dryRun=All", service(spec)),
                Step("GET", f"{PATH}/s"),
            )
        ],
        managed=False,
    ),
    Case(
        "what the cluster says of its ranges",
        [Step("GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")],
        managed=False,
    ),
    Case(
        "what the cluster says of addresses",
        [
            Step("POST", PATH, service({"clusterIP": "fd00:97::99"})),
            Step("POST", PATH, service({"clusterIPs": LAST, "clusterIP": LAST[0], **REQUIRE})),
            Step("PATCH", f"{PATH}/s", {"spec": SINGLE}, MERGE),
            Step("DELETE", f"{PATH}/s"),
        ],
        watch=[
            f"/apis/networking.k8s.io/v1/ipaddresses?fieldSelector=metadata.name={address}"
            for address in LAST
        ],
        managed=False,
    ),
]
