"""Reading logs and reaching into pods: what is refused before anybody is asked."""

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import CONTAINER, PODS, merged, pod

POD = f"{PODS}/p"
TWO = {"containers": [CONTAINER, merged(CONTAINER, {"name": "d"})]}
OPTIONS = (
    "",
    "container=c",
    "container=z",
    "tailLines=-1",
    "tailLines=x",
    "limitBytes=0",
    "limitBytes=-1",
    "sinceSeconds=0",
    "sinceSeconds=-5",
    "sinceSeconds=5&sinceTime=2020-01-01T00:00:00Z",
    "sinceTime=yesterday",
    "follow=maybe",
    "previous=true",
    "timestamps=1",
    "stream=Stdout",
    "stream=Strange",
    "stream=All&tailLines=5",
    "stream=Stdout&tailLines=5",
    "insecureSkipTLSVerifyBackend=true",
)


def _gets(path: str, queries: tuple[str, ...]) -> list[Step]:
    return [Step("GET", f"{path}?{query}") for query in queries]


CASES = [
    Case(
        "logs of a pod without a node",
        [Step("POST", PODS, pod()), *_gets(f"{POD}/log", OPTIONS)],
        managed=False,
    ),
    Case(
        "logs of a pod with two containers",
        [
            Step("POST", PODS, pod({**TWO, "initContainers": [{"name": "i", "image": "i"}]})),
            *_gets(f"{POD}/log", ("", "container=d", "container=i", "container=z")),
        ],
        managed=False,
    ),
    Case(
        "logs with a favourite container",
        [
            Step(
                "POST",
                PODS,
                pod(TWO, annotations={"kubectl.kubernetes.io/default-container": "d"}),
            ),
            Step("GET", f"{POD}/log"),
        ],
        managed=False,
    ),
    Case("logs of nobody", _gets(f"{PODS}/nobody/log", ("", "tailLines=-1")), managed=False),
    Case(
        "commands in a pod without a node",
        [
            Step("POST", PODS, pod()),
            *(
                Step(verb, f"{POD}/{part}?{query}")
                for part in ("exec", "attach", "portforward")
                for verb, query in (
                    ("POST", ""),
                    ("GET", ""),
                    ("POST", "command=ls"),
                    ("POST", "command=ls&stdout=1"),
                    ("POST", "command=ls&stdout=1&container=z"),
                    ("POST", "stdout=1&container=z"),
                    ("POST", "ports=x"),
                    ("PUT", ""),
                    ("DELETE", ""),
                )
            ),
        ],
        managed=False,
    ),
    Case(
        "commands in a pod of two containers",
        [
            Step("POST", PODS, pod(TWO)),
            Step("POST", f"{POD}/exec?command=ls&stdout=1"),
            Step("POST", f"{POD}/attach?stdout=1"),
        ],
        managed=False,
    ),
    Case(
        "commands in nobody",
        [
            Step("POST", f"{PODS}/nobody/exec?command=ls&stdout=1"),
            Step("POST", f"{PODS}/nobody/attach?stdout=1"),
            Step("POST", f"{PODS}/nobody/portforward"),
            Step("GET", f"{PODS}/nobody/proxy/"),
        ],
        managed=False,
    ),
    Case(
        "commands in a pod on a node that is not there",
        [
            Step("POST", PODS, pod({"nodeName": "nowhere-{ns}"})),
            Step("GET", f"{POD}/log"),
            Step("POST", f"{POD}/exec?command=ls&stdout=1"),
            Step("POST", f"{POD}/portforward"),
        ],
        managed=False,
    ),
    Case(
        "a pod that has ended",
        [
            Step("POST", PODS, pod({"nodeName": "nowhere-{ns}"})),
            Step("PATCH", f"{POD}/status", {"status": {"phase": "Succeeded"}}, MERGE),
            Step("POST", f"{POD}/exec?command=ls&stdout=1"),
            Step("POST", f"{POD}/attach?stdout=1"),
        ],
        managed=False,
    ),
    Case(
        "proxies to nobody",
        [
            Step("POST", PODS, pod()),
            Step("GET", f"{POD}/proxy/"),
            Step("GET", f"{PODS}/p:80/proxy/"),
            Step("GET", f"{PODS}/https:p:443/proxy/x"),
            Step("GET", f"{PODS}/a:b:c:d/proxy/"),
            Step("GET", "/api/v1/namespaces/{ns}/services/nobody/proxy/"),
            Step("GET", "/api/v1/namespaces/{ns}/services/nobody:80/proxy/"),
            Step("GET", "/api/v1/namespaces/{ns}/services/a:b:c:d/proxy/"),
            Step(
                "POST",
                "/api/v1/namespaces/{ns}/services",
                {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}},
            ),
            Step("GET", "/api/v1/namespaces/{ns}/services/s/proxy/"),
            Step("GET", "/api/v1/namespaces/{ns}/services/s:81/proxy/"),
            Step("GET", "/api/v1/nodes/nobody/proxy/"),
            Step("GET", "/api/v1/nodes/nobody:10250/proxy/"),
        ],
        managed=False,
    ),
]
