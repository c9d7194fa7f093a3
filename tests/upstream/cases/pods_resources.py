"""Requests, limits, claims and overhead."""

from tests.upstream.variants import CONTAINER, Row, containers, merged, pods


def _limits(**limits: object) -> Row:
    return {
        "resources": {
            "limits": {
                key.replace("__", "/").replace("_", "-"): value for key, value in limits.items()
            }
        }
    }


def _both(name: str, request: object, limit: object) -> Row:
    return {"resources": {"requests": {name: request}, "limits": {name: limit}}}


def _asks(requests: Row) -> Row:
    return {"resources": {"requests": requests}}


CASES = [
    containers(
        "requests and limits",
        _limits(cpu="1"),
        _limits(cpu="1", memory="1Gi"),
        _limits(cpu="-1"),
        _limits(cpu="0"),
        _limits(memory="100m"),
        _limits(memory="1.5"),
        _limits(cpu="0.0001"),
        _limits(cpu=1, memory=1000),
        _limits(cpu=0.5),
        _limits(ephemeral_storage="1Gi"),
        _limits(gpu="1"),
        _limits(Cpu="1"),
        _limits(pods="1"),
        _limits(storage="1"),
        _asks({"gpu": "1"}),
        _asks({"": "1"}),
        _asks({"a b": "1"}),
        _asks({"a/b/c": "1"}),
        _asks({"/x": "1"}),
        _asks({"kubernetes.io/x": "1"}),
        _asks({"example.com/x": "1"}),
        _asks({"requests.cpu": "1"}),
        _both("cpu", "2", "1"),
        _both("memory", "2Gi", "1Gi"),
        _both("memory", "1Gi", "1024Mi"),
        _both("example.com/x", "1", "1"),
        _both("example.com/x", "1", "2"),
        _both("example.com/x", "2", "1"),
        _both("example.com/x", "500m", "500m"),
        _both("example.com/x", "-1", "-1"),
        _both("requests.example.com/x", "1", "1"),
        _both("kubernetes.io/x", "1", "1"),
        _both("sub.kubernetes.io/x", "1", "2"),
        _both("attachable-volumes-x", "1", "1"),
        {"resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1Gi"}}},
        {"resources": {"limits": {"cpu": "1"}, "requests": {"memory": "-1"}}},
    ),
    containers(
        "huge pages",
        _limits(hugepages_2Mi="4Mi"),
        _limits(hugepages_2Mi="4Mi", cpu="1"),
        _limits(hugepages_2Mi="4Mi", memory="1Gi"),
        _limits(hugepages_2Mi="3Mi", memory="1Gi"),
        _limits(hugepages_1Gi="1Gi", hugepages_2Mi="2Mi", cpu="1"),
        _limits(hugepages_="1Gi", cpu="1"),
        _limits(hugepages_x="1Gi", cpu="1"),
        _limits(hugepages_3Mi="3Mi", cpu="1"),
        _limits(hugepages_0="1Gi", cpu="1"),
        {"resources": {"requests": {"hugepages-2Mi": "4Mi", "cpu": "1"}}},
        {
            "resources": {
                "requests": {"hugepages-2Mi": "4Mi", "cpu": "1"},
                "limits": {"hugepages-2Mi": "6Mi"},
            }
        },
    ),
    containers(
        "claims",
        {"resources": {"claims": [{"name": "a"}]}},
        {"resources": {"claims": [{"name": "b"}]}},
        {"resources": {"claims": [{"name": "a"}, {"name": "a"}]}},
        {"resources": {"claims": [{"name": "a", "request": "r"}]}},
        {"resources": {"claims": [{"name": "a", "request": "R"}]}},
        {"resources": {"claims": [{"name": "a"}, {"name": "a", "request": "r"}]}},
        {"resources": {"claims": [{}]}},
        spec={"resourceClaims": [{"name": "a", "resourceClaimName": "x"}]},
    ),
    pods(
        "claims of the pod",
        {"resourceClaims": [{}]},
        {"resourceClaims": [{"name": "a"}]},
        {"resourceClaims": [{"name": "A_", "resourceClaimName": "X"}]},
        {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "X"}]},
        {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "x"}]},
        {
            "resourceClaims": [
                {"name": "a", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}
            ]
        },
        {"resourceClaims": [{"name": "a", "resourceClaimName": "x"}] * 2},
    ),
    pods(
        "resources of the pod",
        {"resources": {"limits": {"cpu": "1"}}},
        {"resources": {"requests": {"cpu": "1"}}},
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        {"resources": {"limits": {"ephemeral-storage": "1"}}},
        {"resources": {"limits": {"example.com/x": "1"}}},
        {"resources": {"limits": {"hugepages-2Mi": "2Mi"}}},
        {"resources": {"claims": [{"name": "a"}]}},
        {"resources": {}},
        {
            "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}},
            "containers": [merged(CONTAINER, _asks({"cpu": "2"}))],
        },
        {
            "resources": {"limits": {"cpu": "1"}},
            "containers": [merged(CONTAINER, _limits(cpu="2"))],
        },
        {
            "resources": {"limits": {"memory": "1Gi"}},
            "containers": [
                merged(CONTAINER, _asks({"memory": "100Mi"})),
                merged(CONTAINER, {"name": "d", **_asks({"memory": "50Mi"})}),
            ],
        },
        {
            "resources": {"requests": {"cpu": "1"}},
            "containers": [merged(CONTAINER, _both("cpu", "500m", "2"))],
        },
    ),
    pods(
        "overhead and priority",
        {"overhead": {"cpu": "1"}},
        {"priority": 5},
        {"priorityClassName": "nobody"},
        {"priorityClassName": "system-node-critical"},
        {"priorityClassName": "system-node-critical", "priority": 1},
        {"preemptionPolicy": "Never"},
        {"preemptionPolicy": "Sometimes"},
        {"preemptionPolicy": "PreemptLowerPriority"},
        {"runtimeClassName": "nobody"},
        {"runtimeClassName": ""},
        {"runtimeClassName": None},
        {"runtimeClassName": "No_body"},
    ),
]
