"""autoscaling/v1 and v2 of one object, with the texts upstream puts into annotations."""

import copy

import orjson

from winkube.apiserver.form.autoscaler import to_v1, to_v2
from winkube.base.types import JsonObject

PREFIX = "autoscaling.alpha.kubernetes.io/"
CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
}
MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
}
PODS = {
    "type": "Pods",
    "pods": {
        "metric": {"name": "rps", "selector": {"matchLabels": {"a": "b"}}},
        "target": {"type": "AverageValue", "averageValue": "1k"},
    },
}
OBJECT = {
    "type": "Object",
    "object": {
        "describedObject": {
            "kind": "Ingress",
            "name": "main",
            "apiVersion": "networking.k8s.io/v1",
        },
        "metric": {"name": "rps"},
        "target": {"type": "Value", "value": "10k"},
    },
}
EXTERNAL = {
    "type": "External",
    "external": {
        "metric": {"name": "queue"},
        "target": {"type": "AverageValue", "averageValue": "30"},
    },
}
BEHAVIOR = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}],
    },
    "scaleDown": {"selectPolicy": "Min", "policies": []},
}


def autoscaler(**spec: object) -> JsonObject:
    target = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    return {
        "metadata": {"name": "web", "annotations": {"mine": "kept"}},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9, **spec},
        "status": {"currentReplicas": 1, "desiredReplicas": 2},
    }


def test_v2_survives_the_way_over_v1() -> None:
    before = autoscaler(metrics=[MEMORY, PODS, OBJECT, EXTERNAL, CPU], behavior=BEHAVIOR)
    before["status"] |= {
        "currentMetrics": [
            {
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "current": {"averageUtilization": 50, "averageValue": "5m"},
                },
            }
        ],
        "conditions": [{"type": "AbleToScale", "status": "True"}],
    }
    obj = copy.deepcopy(before)
    to_v1(obj)
    assert obj["spec"]["targetCPUUtilizationPercentage"] == 60
    assert "metrics" not in obj["spec"]
    assert obj["status"]["currentCPUUtilizationPercentage"] == 50
    to_v2(obj)
    assert obj == before


def test_the_annotations_have_upstreams_texts() -> None:
    obj = autoscaler(metrics=[CPU, MEMORY, OBJECT], behavior=BEHAVIOR)
    to_v1(obj)
    notes = obj["metadata"]["annotations"]
    assert orjson.loads(notes[PREFIX + "metrics"]) == [
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
        {
            "type": "Object",
            "object": {
                "target": OBJECT["object"]["describedObject"],  # type: ignore[index]
                "metricName": "rps",
                "targetValue": "10k",
            },
        },
    ]
    assert notes[PREFIX + "behavior"] == (
        '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods"'
        ',"Value":4,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds"'
        ':null,"SelectPolicy":"Min","Policies":[],"Tolerance":null}}'
    )
    assert notes["mine"] == "kept"


def test_v1_without_a_target_means_eighty_percent() -> None:
    obj = autoscaler()
    to_v2(obj)
    target = {"type": "Utilization", "averageUtilization": 80}
    assert obj["spec"]["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    ]


def test_annotations_that_cannot_be_read_are_dropped() -> None:
    obj = autoscaler(targetCPUUtilizationPercentage=50)
    obj["metadata"]["annotations"] = {PREFIX + "metrics": "nonsense", PREFIX + "behavior": "[1]"}
    to_v2(obj)
    assert obj["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 50
    assert "annotations" not in obj["metadata"]
    assert "behavior" not in obj["spec"]
