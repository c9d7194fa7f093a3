"""The other kinds of the core: namespaces, events, endpoints, controllers, templates."""

from typing import Any

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import CONTAINER, DRY, merged

SPACES = "/api/v1/namespaces"
EVENTS = f"{SPACES}/{{ns}}/events"
ENDPOINTS = f"{SPACES}/{{ns}}/endpoints"
CONTROLLERS = f"{SPACES}/{{ns}}/replicationcontrollers"
TEMPLATES = f"{SPACES}/{{ns}}/podtemplates"
TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"automountServiceAccountToken": False, "containers": [CONTAINER]},
}
CONTROLLER = {"metadata": {"name": "r"}, "spec": {"selector": {"a": "b"}, "template": TEMPLATE}}
EVENT = {
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}"},
    "reason": "r",
    "message": "m",
    "type": "Normal",
}


def _posts(name: str, path: str, base: dict[str, Any], *rows: dict[str, Any]) -> Case:
    steps = [Step("POST", f"{path}{DRY}", merged(base, row)) for row in rows]
    return Case(name, steps, managed=False)


def _patches(path: str, *patches: Any) -> list[Step]:
    return [Step("PATCH", f"{path}{DRY}", patch, MERGE) for patch in patches]


def _subset(**subset: Any) -> dict[str, Any]:
    base = {"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}
    return {"subsets": [{**base, **subset}]}


OWN = f"{SPACES}/{{ns}}-x"
CASES = [
    _posts(
        "namespaces",
        SPACES,
        {"metadata": {"name": "{ns}-x"}},
        {},
        {"spec": {"finalizers": []}},
        {"spec": {"finalizers": ["a/b"]}},
        {"spec": {"finalizers": ["a"]}},
        {"spec": {"finalizers": ["a b"]}},
        {"status": {"phase": "Terminating"}},
        {"metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}},
        {"metadata": {"labels": {"a b": "c"}}},
        {"metadata": {"name": "a.b"}},
    ),
    Case(
        "the life of a namespace",
        [
            Step("POST", SPACES, {"metadata": {"name": "{ns}-x"}}),
            *_patches(
                OWN,
                {"metadata": {"labels": {"a": "b"}}},
                {"metadata": {"labels": {"kubernetes.io/metadata.name": "z"}}},
                {"metadata": {"labels": None}},
                {"spec": {"finalizers": ["a/b"]}},
                {"status": {"phase": "Terminating"}},
            ),
            *_patches(
                f"{OWN}/status",
                {"status": {"phase": "Terminating"}},
                {"status": {"conditions": [{"type": "X", "status": "True"}]}},
                {"metadata": {"labels": {"a": "b"}}},
            ),
            Step("PUT", f"{OWN}/finalize{DRY}", {"metadata": {"name": "{ns}-x"}}),
            Step(
                "PUT",
                f"{OWN}/finalize{DRY}",
                {"metadata": {"name": "{ns}-x"}, "spec": {"finalizers": ["a/b", "kubernetes"]}},
            ),
            Step(
                "PUT",
                f"{OWN}/finalize{DRY}",
                {"metadata": {"name": "{ns}-x"}, "spec": {"finalizers": ["a b"]}},
            ),
            Step("DELETE", OWN),
            Step("GET", OWN),
            Step("DELETE", OWN),
            Step("POST", f"{OWN}/configmaps", {"metadata": {"name": "a"}}),
            Step("PUT", f"{OWN}/finalize", {"metadata": {"name": "{ns}-x"}}),
            Step("GET", OWN),
        ],
        managed=False,
    ),
    _posts(
        "events",
        EVENTS,
        EVENT,
        {},
        {"metadata": {"name": "E_"}},
        {"involvedObject": {"namespace": "other"}},
        {"involvedObject": {"namespace": ...}},
        {"involvedObject": ...},
        {"type": "Strange"},
        {"type": ""},
        {"reason": ""},
        {"message": "x" * 1025},
        {
            "count": 5,
            "firstTimestamp": "2020-01-01T00:00:00Z",
            "lastTimestamp": "2020-01-02T00:00:00Z",
        },
        {"source": {"component": "c", "host": "h"}},
        {"eventTime": "2020-01-01T00:00:00.000000Z"},
        {
            "eventTime": "2020-01-01T00:00:00.000000Z",
            "reportingComponent": "a/b",
            "reportingInstance": "i",
            "action": "act",
        },
        {"eventTime": "2020-01-01T00:00:00.000000Z", "reportingComponent": "a b"},
        {"reportingComponent": "a b"},
        {"series": {"count": 1, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}},
        {"related": {"kind": "Node", "name": "n"}},
    ),
    _posts(
        "events of what has no namespace",
        f"{SPACES}/default/events",
        EVENT,
        {"involvedObject": {"kind": "Node", "name": "n", "namespace": ...}},
        {"involvedObject": {"kind": "Node", "name": "n", "namespace": "default"}},
    ),
    Case(
        "changes of an event",
        [
            Step("POST", EVENTS, EVENT),
            *_patches(
                f"{EVENTS}/e",
                {"count": 2},
                {"reason": "other"},
                {"involvedObject": {"name": "q"}},
                {"involvedObject": {"namespace": "q"}},
                {"type": "Warning"},
            ),
        ],
        managed=False,
    ),
    _posts(
        "endpoints",
        ENDPOINTS,
        {"metadata": {"name": "e"}},
        {},
        {"metadata": {"name": "E_"}},
        {"subsets": [{}]},
        _subset(),
        _subset(addresses=[]),
        _subset(addresses=[], notReadyAddresses=[{"ip": "1.2.3.4"}]),
        _subset(ports=[]),
        _subset(addresses=[{"ip": "x"}]),
        _subset(addresses=[{"ip": ""}]),
        _subset(addresses=[{"ip": "127.0.0.1"}]),
        _subset(addresses=[{"ip": "169.254.1.1"}]),
        _subset(addresses=[{"ip": "::"}]),
        _subset(addresses=[{"ip": "01.2.3.4"}]),
        _subset(addresses=[{"ip": "1.2.3.4", "hostname": "A_"}]),
        _subset(addresses=[{"ip": "1.2.3.4", "hostname": "a.b"}]),
        _subset(addresses=[{"ip": "1.2.3.4", "nodeName": "N_"}]),
        _subset(addresses=[{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}]),
        _subset(addresses=[{"ip": "1.2.3.5"}, {"ip": "1.2.3.4"}]),
        _subset(ports=[{"port": 0}]),
        _subset(ports=[{"port": 65536}]),
        _subset(ports=[{"port": 80, "protocol": "X"}]),
        _subset(ports=[{"port": 80}, {"port": 81}]),
        _subset(ports=[{"port": 80, "name": "A_"}]),
        _subset(ports=[{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]),
        _subset(ports=[{"port": 80, "appProtocol": "a b"}]),
        {"subsets": [*_subset()["subsets"], *_subset(ports=[{"port": 81}])["subsets"]]},
        {"subsets": _subset()["subsets"] * 2},
    ),
    Case(
        "changes of endpoints",
        [
            Step("POST", ENDPOINTS, merged({"metadata": {"name": "e"}}, _subset())),
            *_patches(
                f"{ENDPOINTS}/e",
                _subset(addresses=[{"ip": "1.2.3.5"}]),
                _subset(addresses=[{"ip": "x"}]),
                {"subsets": None},
                {"metadata": {"labels": {"a": "b"}}},
            ),
        ],
        managed=False,
    ),
    _posts(
        "replication controllers",
        CONTROLLERS,
        CONTROLLER,
        {},
        {"metadata": {"name": "R_"}},
        {"spec": {"replicas": -1}},
        {"spec": {"replicas": 0}},
        {"spec": {"minReadySeconds": -1}},
        {"spec": {"minReadySeconds": 5}},
        {"spec": {"selector": ...}},
        {"spec": {"selector": {"a": "c"}}},
        {"spec": {"selector": {"a b": "c"}}},
        {"spec": {"template": ...}},
        {"spec": {"template": {"metadata": ...}}},
        {"spec": {"template": {"metadata": ...}, "selector": ...}},
        {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}},
        {"spec": {"template": {"spec": {"activeDeadlineSeconds": 5}}}},
        {"spec": {"template": {"spec": {"containers": []}}}},
        {"spec": {"template": {"spec": {"hostNetwork": True}}}},
        {"spec": {"template": {"metadata": {"labels": {"a": "b", "c d": "e"}}}}},
        {"metadata": {"labels": {"x": "y"}}},
        {
            "spec": {
                "template": {"spec": {"volumes": [{"name": "g", "gitRepo": {"repository": "r"}}]}}
            }
        },
    ),
    Case(
        "changes of a replication controller",
        [
            Step("POST", CONTROLLERS, CONTROLLER),
            *_patches(
                f"{CONTROLLERS}/r",
                {"spec": {"replicas": 3}},
                {"spec": {"replicas": -3}},
                {"spec": {"selector": {"c": "d"}}},
                {"spec": {"template": {"metadata": {"labels": {"x": "y"}}}}},
                {"spec": {"template": {"spec": {"containers": [{**CONTAINER, "image": "z"}]}}}},
                {"metadata": {"labels": {"x": "y"}}},
                {"status": {"replicas": 5}},
            ),
            *_patches(
                f"{CONTROLLERS}/r/status",
                {"status": {"replicas": 5}},
                {"status": {"replicas": -5}},
                {"status": {"replicas": 1, "readyReplicas": 2}},
                {"status": {"replicas": 2, "readyReplicas": 1, "availableReplicas": 2}},
                {"status": {"replicas": 1, "fullyLabeledReplicas": 2}},
                {"status": {"replicas": 1, "observedGeneration": -1}},
                {"spec": {"replicas": 9}},
            ),
        ],
        managed=False,
    ),
    _posts(
        "pod templates",
        TEMPLATES,
        {"metadata": {"name": "t"}, "template": TEMPLATE},
        {},
        {"template": ...},
        {"template": {"spec": {"containers": []}}},
        {"template": {"metadata": {"labels": {"a b": "c"}}}},
        {"template": {"metadata": {"annotations": {"a b": "c"}}}},
        {"template": {"spec": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}}},
        {"template": {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}},
        {"template": {"spec": {"containers": [{**CONTAINER, "image": " "}]}}},
        {
            "template": {
                "metadata": {
                    "annotations": {
                        "container.apparmor.security.beta.kubernetes.io/c": "runtime/default"
                    }
                }
            }
        },
    ),
    Case(
        "component statuses",
        [
            Step("GET", "/api/v1/componentstatuses/nobody"),
            Step("POST", "/api/v1/componentstatuses", {"metadata": {"name": "a"}}),
        ],
        managed=False,
    ),
]
