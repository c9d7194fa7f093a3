"""Where a pod goes by the pods that are there."""

from tests.upstream.scheduling.objects import (
    HOST,
    ZONE,
    apart,
    node,
    on,
    owned_by,
    pod,
    rather,
    replica_set,
    service,
    spread,
    taint,
    term,
    together,
    wants,
    zone,
)
from tests.upstream.scheduling.scenario import Scenario, labelled

SEVERAL = [node("a"), node("b"), node("c")]
ZONES = [zone("a1", "a"), zone("a2", "a"), zone("b1", "b")]

# Those every pod has, and one that tolerates everything.
TOLERATIONS = [
    {
        "key": f"node.kubernetes.io/{state}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for state in ("not-ready", "unreachable")
] + [{"operator": "Exists"}]

EVENTS = [
    Scenario(
        "a taint is taken off",
        [node("a", taints=[taint("k", "v")])],
        [pod("p"), pod("q", "9"), {"change": "a", "body": {"spec": {"taints": None}}}],
    ),
    Scenario(
        "a label is put on",
        [node("a")],
        [
            pod("p", nodeSelector={"disk": "ssd"}),
            {"change": "a", "body": {"metadata": {"labels": {"disk": "ssd"}}}},
        ],
    ),
    Scenario(
        "a node is opened again",
        [node("a", unschedulable=True)],
        [pod("p"), {"change": "a", "body": {"spec": {"unschedulable": None}}}],
    ),
    Scenario(
        "a node grows",
        [node("a", "1")],
        [
            pod("p", "2"),
            {
                "change": "a",
                "subresource": "status",
                "body": {"status": {"allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}}},
            },
        ],
    ),
    Scenario(
        "a toleration is added",
        [node("a", taints=[taint("k", "v")])],
        [pod("p"), {"patch": "p", "body": {"spec": {"tolerations": TOLERATIONS}}}],
    ),
    Scenario(
        "company comes",
        [node("a"), node("b")],
        [pod("p", affinity=together(term(HOST, app="x"))), on("b", "x", **labelled())],
    ),
]

SPREADING = [
    Scenario(
        "hard spreading over zones",
        ZONES,
        [
            pod("p", **labelled(topologySpreadConstraints=[spread(ZONE)])),
            pod("q", "5", **labelled(topologySpreadConstraints=[spread(ZONE)])),
        ],
        [on("a1", "x", **labelled()), on("a2", "y", **labelled())],
    ),
    Scenario(
        "zone is full",
        [zone("a1", "a"), zone("b1", "b", cpu="1"), node("c")],
        [pod("p", "1", **labelled(topologySpreadConstraints=[spread(ZONE)]))],
        [on("a1", "x", **labelled()), on("b1", "y", "1")],
    ),
    Scenario(
        "larger skew",
        ZONES,
        [pod("p", **labelled(topologySpreadConstraints=[spread(ZONE, skew=2)]))],
        [on("a1", "x", **labelled()), on("b1", "y", "3", "7Gi")],
    ),
    Scenario(
        "least number of domains",
        [zone("a1", "a"), zone("b1", "b")],
        [pod("p", **labelled(topologySpreadConstraints=[spread(ZONE, minDomains=3)]))],
        [on("a1", "x", **labelled()), on("b1", "y", **labelled())],
    ),
    Scenario(
        "policies of nodes",
        [
            zone("a1", "a"),
            zone("b1", "b", labels={"disk": "ssd"}),
            zone("c1", "c", taints=[taint("k", "v")]),
        ],
        [
            pod(
                "p",
                **labelled(topologySpreadConstraints=[spread(ZONE)], nodeSelector={"disk": "ssd"}),
            ),
            pod(
                "q",
                **labelled(
                    topologySpreadConstraints=[spread(ZONE, nodeAffinityPolicy="Ignore")],
                    nodeSelector={"disk": "ssd"},
                ),
            ),
            pod(
                "r", **labelled(topologySpreadConstraints=[spread(ZONE, nodeTaintsPolicy="Honor")])
            ),
        ],
        [on("a1", "x", **labelled()), on("b1", "y", **labelled())],
    ),
    Scenario(
        "label keys",
        [node("a"), node("b")],
        [
            pod(
                "p",
                "1",
                labels={"app": "x", "v": "2"},
                topologySpreadConstraints=[spread(HOST, matchLabelKeys=["v"])],
            )
        ],
        [
            on("a", "x", labels={"app": "x", "v": "1"}),
            on("b", "y", "2", labels={"app": "x", "v": "2"}),
        ],
    ),
    Scenario(
        "soft spreading",
        ZONES,
        [
            pod(
                "p", "100m", **labelled(topologySpreadConstraints=[spread(ZONE, "ScheduleAnyway")])
            ),
            pod(
                "q",
                "100m",
                **labelled(
                    topologySpreadConstraints=[
                        spread(HOST, "ScheduleAnyway"),
                        spread(ZONE, "ScheduleAnyway"),
                    ]
                ),
            ),
        ],
        [
            on("a1", "x", "100m", **labelled()),
            on("b1", "y", "100m", **labelled()),
            on("b1", "z", "100m", **labelled()),
        ],
        times=6,
    ),
    Scenario(
        "leaving pods do not count",
        [node("a"), node("b", "2")],
        [
            {"delete": "x", "grace": 100},
            pod("p", "1", **labelled(topologySpreadConstraints=[spread(HOST)])),
        ],
        [on("a", "x", grace=100, **labelled()), on("b", "y", **labelled())],
    ),
    Scenario(
        "pods of a service are spread",
        SEVERAL,
        [pod("p", "100m", **labelled())],
        [
            service("s", app="x"),
            on("a", "x", "100m", **labelled()),
            on("b", "y", "1", "1Gi"),
            on("c", "z", "100m", **labelled()),
        ],
    ),
    Scenario(
        "pods of a controller are spread over zones",
        ZONES,
        [pod("p", "100m", owner=owned_by("rs"), **labelled())],
        [
            replica_set("rs", app="x"),
            on("a1", "x", "100m", **labelled()),
            on("b1", "y", "500m", "512Mi"),
        ],
    ),
    Scenario(
        "controller without company",
        [node("a"), node("b", "16", "32Gi")],
        [pod("p", "100m", owner=owned_by("other"), labels={"app": "y"})],
        [replica_set("rs", app="x"), on("b", "x", "100m", **labelled())],
    ),
]


RELATIONS = [
    Scenario(
        "affinity follows",
        ZONES,
        [
            pod("p", affinity=together(term(ZONE, app="x"))),
            pod("q", affinity=together(term(HOST, app="y"))),
        ],
        [on("b1", "x", "3", "6Gi", **labelled())],
    ),
    Scenario(
        "first of its group",
        [node("a"), node("b", "8", "16Gi")],
        [
            pod("p", "1", affinity=together(term(HOST, app="x")), **labelled()),
            pod("q", "1", affinity=together(term(HOST, app="x")), **labelled()),
            pod("r", affinity=together(term("rack", app="x")), **labelled()),
        ],
    ),
    Scenario(
        "two affinities want one pod",
        [zone("a1", "a"), zone("b1", "b")],
        [pod("p", affinity=together(term(ZONE, app="x"), term(ZONE, tier="1")))],
        [
            on("a1", "x", **labelled()),
            on("a1", "y", labels={"tier": "1"}),
            on("b1", "z", "3", labels={"app": "x", "tier": "1"}),
        ],
    ),
    Scenario(
        "anti-affinity",
        [node("a"), node("b")],
        [
            pod("p", affinity=apart(term(HOST, app="x"))),
            {"delete": "p"},
            on("b", "z", **labelled()),
            pod("q", affinity=apart(term(HOST, app="x"))),
        ],
        [on("a", "x", **labelled())],
    ),
    Scenario(
        "anti-affinity of others",
        [node("a"), node("b", "2")],
        [pod("p", "1", **labelled()), pod("q", "2", **labelled()), pod("r", "1")],
        [on("a", "x", affinity=apart(term(HOST, app="x")))],
    ),
    Scenario(
        "preferred company",
        SEVERAL,
        [
            pod("p", "100m", affinity=rather("podAffinity", (50, term(HOST, app="x")))),
            pod(
                "q",
                "100m",
                affinity=rather(
                    "podAntiAffinity", (50, term(HOST, app="x")), (10, term(HOST, app="y"))
                ),
            ),
        ],
        [on("b", "x", "1", "1Gi", **labelled()), on("a", "y", "100m", labels={"app": "y"})],
    ),
    Scenario(
        "others prefer company",
        SEVERAL,
        [pod("p", "100m", **labelled()), pod("q", "100m", labels={"app": "y"})],
        [
            on("b", "x", "1", "1Gi", affinity=rather("podAffinity", (50, term(HOST, app="x")))),
            on("a", "y", "1", affinity=rather("podAntiAffinity", (50, term(HOST, app="y")))),
            on("c", "z", "2", labels={"app": "y"}, affinity=together(term(HOST, app="y"))),
        ],
    ),
    Scenario(
        "namespaces by labels",
        [node("a"), node("b")],
        [
            pod("p", affinity=apart({**term(HOST, app="x"), "namespaceSelector": wants(team="t")})),
            pod(
                "q", affinity=apart({**term(HOST, app="x"), "namespaceSelector": wants(team="no")})
            ),
            pod("r", affinity=together({**term(HOST, app="x"), "namespaceSelector": {}})),
        ],
        [on("a", "x", **labelled()), on("b", "y", "3", "6Gi")],
    ),
    Scenario(
        "affinity by label keys",
        [node("a"), node("b", "2")],
        [
            pod(
                "p",
                labels={"app": "x", "v": "2"},
                affinity=apart({**term(HOST, app="x"), "matchLabelKeys": ["v"]}),
            )
        ],
        [
            on("a", "x", labels={"app": "x", "v": "2"}),
            on("b", "y", "1", labels={"app": "x", "v": "1"}),
        ],
    ),
]
