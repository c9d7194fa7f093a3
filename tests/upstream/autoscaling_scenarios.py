"""What an autoscaler may meet: every kind of metric, and what can be wrong with each."""

from typing import Any, Final

from tests.upstream.play_autoscaling import Pod, Scenario

from winkube.base.types import JsonObject

TARGET: Final = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
BUSY, CALM, IDLE = Pod(cpu=180), Pod(cpu=52), Pod(cpu=5)
SERVICE: Final = {"apiVersion": "v1", "kind": "Service", "name": "front"}
SELECTOR: Final = {
    "matchLabels": {"queue": "one", "area": "x"},
    "matchExpressions": [{"key": "level", "operator": "In", "values": ["b", "a"]}],
}
NOW: Final = {"scaleDown": {"stabilizationWindowSeconds": 0}}


def spec(*metrics: JsonObject, **more: Any) -> JsonObject:
    return {
        "scaleTargetRef": TARGET,
        "minReplicas": 1,
        "maxReplicas": 10,
        "metrics": list(metrics),
        **more,
    }


def target(kind: str, value: Any) -> JsonObject:
    names = {"Utilization": "averageUtilization", "AverageValue": "averageValue", "Value": "value"}
    return {"type": kind, names[kind]: value}


def resource(name: str, kind: str, value: Any) -> JsonObject:
    return {"type": "Resource", "resource": {"name": name, "target": target(kind, value)}}


def container(name: str, of: str, kind: str, value: Any) -> JsonObject:
    entry = {"name": name, "container": of, "target": target(kind, value)}
    return {"type": "ContainerResource", "containerResource": entry}


def pods(name: str, value: str, selector: JsonObject | None = None) -> JsonObject:
    metric: JsonObject = {"name": name, **({"selector": selector} if selector else {})}
    return {"type": "Pods", "pods": {"metric": metric, "target": target("AverageValue", value)}}


def of_object(name: str, kind: str, value: str, described: JsonObject = SERVICE) -> JsonObject:
    entry = {
        "describedObject": described,
        "metric": {"name": name},
        "target": target(kind, value),
    }
    return {"type": "Object", "object": entry}


def external(name: str, kind: str, value: str, selector: JsonObject | None = None) -> JsonObject:
    metric: JsonObject = {"name": name, **({"selector": selector} if selector else {})}
    return {"type": "External", "external": {"metric": metric, "target": target(kind, value)}}


CPU: Final = resource("cpu", "Utilization", 50)
SLOW: Final = {"type": "Pods", "value": 1, "periodSeconds": 60}

SCENARIOS: Final = [
    Scenario("cpu above the target", spec(CPU), (BUSY, BUSY)),
    Scenario("cpu close to the target", spec(CPU), (CALM, CALM)),
    Scenario("cpu below the target, remembered", spec(CPU), (IDLE, IDLE, IDLE)),
    Scenario("cpu below the target, at once", spec(CPU, behavior=NOW), (IDLE, IDLE, IDLE)),
    Scenario("cpu value", spec(resource("cpu", "AverageValue", "60m")), (BUSY, CALM)),
    Scenario("memory above", spec(resource("memory", "Utilization", 20)), (CALM, CALM)),
    Scenario("memory value", spec(resource("memory", "AverageValue", "64Mi")), (CALM, CALM)),
    Scenario("one container", spec(container("cpu", "main", "Utilization", 50)), (BUSY, BUSY)),
    Scenario("a container value", spec(container("cpu", "main", "AverageValue", "1")), (BUSY,)),
    Scenario("no such container", spec(container("cpu", "none", "Utilization", 50)), (BUSY,)),
    Scenario("a pod without figures, up", spec(CPU), (BUSY, BUSY, Pod())),
    Scenario("a pod without figures, down", spec(CPU, behavior=NOW), (IDLE, IDLE, IDLE, Pod())),
    Scenario("an unready pod", spec(CPU), (BUSY, Pod(cpu=180, ready=False, young=True))),
    Scenario("a pod that is just ready", spec(CPU), (BUSY, Pod(cpu=180, young=True))),
    Scenario("only unready pods", spec(CPU), (Pod(cpu=180, ready=False, young=True),)),
    Scenario("pending pods", spec(CPU), (BUSY, Pod(phase="Pending", ready=False))),
    Scenario("failed pods", spec(CPU), (BUSY, Pod(cpu=1, phase="Failed", ready=False))),
    Scenario("no figures at all", spec(CPU), (Pod(), Pod())),
    Scenario("no pods", spec(CPU), (), replicas=2),
    Scenario("no request", spec(CPU), (Pod(cpu=10, requests={}),)),
    Scenario("no target", spec(CPU, scaleTargetRef={**TARGET, "name": "none"}), (BUSY,)),
    Scenario("no kind", spec(CPU, scaleTargetRef={**TARGET, "kind": "Robot"}), (BUSY,)),
    Scenario("no group", spec(CPU, scaleTargetRef={**TARGET, "apiVersion": "x/v1"}), (BUSY,)),
    Scenario(
        "a kind without a scale",
        spec(CPU, scaleTargetRef={**TARGET, "kind": "ControllerRevision"}),
        (BUSY,),
    ),
    Scenario("zero replicas", spec(CPU), (), replicas=0),
    Scenario("more than the maximum", spec(CPU, maxReplicas=2), (CALM, CALM, CALM)),
    Scenario("less than the minimum", spec(CPU, minReplicas=3), (BUSY,)),
    Scenario("up to the maximum", spec(CPU, maxReplicas=3), (BUSY, BUSY)),
    Scenario("down to the minimum", spec(CPU, minReplicas=2, behavior=NOW), (IDLE, IDLE, IDLE)),
    Scenario("faster than twofold", spec(resource("cpu", "Utilization", 10)), (BUSY,)),
    Scenario("up slowly", spec(CPU, behavior={"scaleUp": {"policies": [SLOW]}}), (BUSY, BUSY)),
    Scenario(
        "down slowly",
        spec(CPU, behavior={"scaleDown": {**NOW["scaleDown"], "policies": [SLOW]}}),
        (IDLE, IDLE, IDLE, IDLE),
    ),
    Scenario("never up", spec(CPU, behavior={"scaleUp": {"selectPolicy": "Disabled"}}), (BUSY,)),
    Scenario(
        "up after a while",
        spec(CPU, behavior={"scaleUp": {"stabilizationWindowSeconds": 600}}),
        (BUSY,),
    ),
    Scenario("pods", spec(pods("rps", "10")), (CALM, CALM), custom={"rps": ["15", "25"]}),
    Scenario("pods, missing", spec(pods("rps", "10")), (CALM, CALM)),
    Scenario("pods, none", spec(pods("rps", "10")), (CALM,), custom={"rps": []}),
    Scenario("pods, selected", spec(pods("rps", "1", SELECTOR)), (CALM,), custom={"rps": ["3"]}),
    Scenario("object", spec(of_object("hits", "Value", "100")), (CALM,), custom={"hits": ["350"]}),
    Scenario(
        "object per pod",
        spec(of_object("hits", "AverageValue", "50")),
        (CALM, CALM),
        custom={"hits": ["350"]},
    ),
    Scenario("object, missing", spec(of_object("hits", "Value", "100")), (CALM,)),
    Scenario("object per pod, missing", spec(of_object("hits", "AverageValue", "1")), (CALM,)),
    Scenario(
        "object of no kind",
        spec(of_object("hits", "Value", "1", {**SERVICE, "kind": "Robot"})),
        (CALM,),
    ),
    Scenario(
        "object, many",
        spec(of_object("hits", "Value", "100")),
        (CALM,),
        custom={"hits": ["1", "2"]},
    ),
    Scenario(
        "external", spec(external("jobs", "Value", "10")), (CALM,), external={"jobs": ["12", "13"]}
    ),
    Scenario(
        "external per pod",
        spec(external("jobs", "AverageValue", "7", SELECTOR)),
        (CALM, CALM),
        external={"jobs": ["30"]},
    ),
    Scenario("external, missing", spec(external("jobs", "Value", "10")), (CALM,)),
    Scenario(
        "external per pod, missing",
        spec(external("jobs", "AverageValue", "10", SELECTOR)),
        (CALM,),
    ),
    Scenario("no external", spec(external("jobs", "Value", "1")), (CALM,), external={"jobs": []}),
    Scenario("one of two fails, up", spec(CPU, pods("rps", "1")), (BUSY, BUSY)),
    Scenario("one of two fails, down", spec(CPU, pods("rps", "1"), behavior=NOW), (IDLE, IDLE)),
    Scenario(
        "the larger of two",
        spec(CPU, pods("rps", "10")),
        (BUSY, BUSY),
        custom={"rps": ["15", "15"]},
    ),
    Scenario("two autoscalers", spec(CPU), (BUSY,), other=spec(CPU)),
]  # fmt: skip
