"""Who has to go for whom; and volumes."""

from tests.upstream.scheduling.objects import (
    HOST,
    ZONE,
    apart,
    bound,
    budget,
    claim,
    expression,
    match,
    node,
    on,
    pod,
    spread,
    taint,
    term,
    volume,
    with_claim,
    with_own_claim,
    zone,
)
from tests.upstream.scheduling.scenario import HIGH, LOW, MID, TOP, Scenario, labelled

OLD, YOUNG = "2025-01-01T00:00:00Z", "2025-02-01T00:00:00Z"

HOST_B = match(expression(HOST, "In", "b"))

PREEMPTION = [
    Scenario(
        "the least important goes",
        [node("a", "2")],
        [pod("p", "1", **HIGH)],
        [on("a", "x", "1", **LOW), on("a", "y", "1", **MID)],
    ),
    Scenario(
        "victims take their time",
        [node("a", "2")],
        [pod("p", "2", **HIGH), pod("q", "1", **LOW), {"delete": "x"}],
        [on("a", "x", "2", grace=100, **LOW)],
    ),
    Scenario(
        "a polite pod waits",
        [node("a", "2")],
        [pod("p", "1", priorityClassName="polite")],
        [on("a", "x", "2", **LOW)],
    ),
    Scenario("equals stay", [node("a", "2")], [pod("p", "1", **LOW)], [on("a", "x", "2", **LOW)]),
    Scenario(
        "some nodes cannot help",
        [node("a", "1"), node("b", "2"), node("c", "4", taints=[taint("k", "v")])],
        [pod("p", "2", **HIGH)],
        [on("b", "x", "1", **TOP), on("b", "y", "1", **LOW)],
    ),
    Scenario(
        "a budget is kept",
        [node("a", "2"), node("b", "2")],
        [pod("p", "2", **HIGH)],
        [
            on("a", "x", "2", **labelled(), **LOW),
            on("b", "y", "1", **MID),
            on("b", "z", "1", **MID),
            budget("b", 0, app="x"),
        ],
    ),
    Scenario(
        "a budget is violated when nothing else helps",
        [node("a", "2")],
        [pod("p", "1", **HIGH)],
        [
            on("a", "x", "1", **labelled(), **LOW),
            on("a", "y", "1", **labelled(), **MID),
            budget("b", 0, app="x"),
        ],
    ),
    Scenario(
        "a budget spares its pods",
        [node("a", "2")],
        [pod("p", "1", **HIGH)],
        [on("a", "x", "1", **labelled(), **LOW), on("a", "y", "1", **MID), budget("b", 0, app="x")],
    ),
    Scenario(
        "lowest of the highest",
        [node("a", "2"), node("b", "2")],
        [pod("p", "2", **TOP)],
        [on("a", "x", "1", **LOW), on("a", "y", "1", **HIGH), on("b", "z", "2", **MID)],
    ),
    Scenario(
        "smallest sum",
        [node("a", "2"), node("b", "2")],
        [pod("p", "2", **TOP)],
        [on("a", "x", "1", **LOW), on("a", "y", "1", **MID), on("b", "z", "2", **MID)],
    ),
    Scenario(
        "youngest",
        [node("a", "2"), node("b", "2")],
        [pod("p", "2", **TOP)],
        [on("a", "x", "2", start=OLD, **LOW), on("b", "y", "2", start=YOUNG, **LOW)],
    ),
    Scenario(
        "younger goes first on a node",
        [node("a", "2")],
        [pod("p", "1", **TOP)],
        [on("a", "x", "1", start=OLD, **LOW), on("a", "y", "1", start=YOUNG, **LOW)],
    ),
    Scenario(
        "ports are freed",
        [node("a")],
        [pod("p", ports=[{"containerPort": 80, "hostPort": 80}], **HIGH)],
        [on("a", "x", ports=[{"containerPort": 80, "hostPort": 80}], **LOW), on("a", "y", **LOW)],
    ),
    Scenario(
        "distance is made",
        [node("a")],
        [pod("p", affinity=apart(term(HOST, app="x")), **HIGH)],
        [on("a", "x", **labelled(), **LOW), on("a", "y", **LOW)],
    ),
    Scenario(
        "distance of others is made",
        [node("a")],
        [pod("p", **labelled(), **HIGH)],
        [on("a", "x", grace=100, affinity=apart(term(HOST, app="x")), **LOW), on("a", "y", **LOW)],
    ),
    Scenario(
        "spreading is made even",
        [zone("a1", "a"), zone("b1", "b", cpu="1")],
        [pod("p", "2", **labelled(topologySpreadConstraints=[spread(ZONE)]), **HIGH)],
        [on("a1", "x", **labelled(), **LOW)],
    ),
    Scenario(
        "room is promised",
        [node("a", "2")],
        [pod("p", "2", **HIGH), pod("q", "1", **MID), pod("r", "1", **TOP)],
        [on("a", "x", "2", grace=100, **LOW)],
    ),
    Scenario(
        "a promise is taken back",
        [node("a", "2"), node("b", "1")],
        [pod("p", "2", **MID), pod("q", "2", **TOP), {"delete": "x"}],
        [on("a", "x", "2", grace=100, **LOW)],
    ),
]


VOLUMES = [
    Scenario(
        "volume is on one node",
        [node("a", "8", "16Gi"), node("b"), node("c", "8")],
        [pod("p", "1", **with_claim("c")), pod("q", "4", **with_claim("c"))],
        [
            volume("on-b", nodeAffinity={"required": {"nodeSelectorTerms": [HOST_B]}}),
            bound("c", "on-b"),
        ],
    ),
    Scenario(
        "volume is in one zone",
        [zone("a1", "a"), zone("b1", "b"), node("c")],
        [pod("p", "1", **with_claim("c")), pod("q", "9", **with_claim("c"))],
        [volume("in-b", labels={ZONE: "b"}), bound("c", "in-b"), on("c", "x", "3", "6Gi")],
    ),
    Scenario(
        "claim of one pod",
        [node("a"), node("b")],
        [pod("p", **with_claim("c")), {"delete": "p"}, pod("q", **with_claim("c"), **HIGH)],
        [
            volume("for-one", accessModes=["ReadWriteOncePod"]),
            bound("c", "for-one", accessModes=["ReadWriteOncePod"]),
            on("a", "x", **with_claim("c"), **LOW),
        ],
    ),
    Scenario("volume is gone", [node("a")], [pod("p", **with_claim("c"))], [bound("c", "none")]),
    Scenario("claim is missing", [node("a")], [pod("p", **with_claim("none"))]),
    Scenario("own claim is missing", [node("a")], [pod("p", **with_own_claim("later"))]),
    Scenario(
        "own claim is another's",
        [node("a")],
        [pod("p", **with_own_claim("later"))],
        [claim("p-v", "later")],
    ),
    Scenario("claim is not bound", [node("a")], [pod("p", **with_claim("c"))], [claim("c", "now")]),
    Scenario(
        "no volume for the claim",
        [node("a"), node("b")],
        [pod("p", **with_claim("c"))],
        [claim("c", "later")],
    ),
]
