"""Probes and hooks."""

from typing import Any

from tests.upstream.variants import containers

TCP = {"tcpSocket": {"port": 80}}
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def _on(kind: str, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{kind: row} for row in rows]


def _hook(**hook: object) -> dict[str, object]:
    return {"lifecycle": {"preStop": hook}}


HANDLERS: tuple[dict[str, Any], ...] = (
    {},
    {"exec": {}},
    {"exec": {"command": []}},
    {"exec": {"command": ["a"]}},
    {"httpGet": {}},
    {"httpGet": {"port": 80}},
    {"httpGet": {"port": "web"}},
    {"httpGet": {"port": ""}},
    {"httpGet": {"port": 0}},
    {"httpGet": {"port": 70000}},
    {"httpGet": {"port": "Web_1"}},
    {"httpGet": {"port": 80, "path": "", "scheme": "FTP"}},
    {"httpGet": {"port": 80, "scheme": "https"}},
    {"httpGet": {"port": 80, "host": "h", "path": "x"}},
    {"httpGet": {"port": 80, "httpHeaders": [{"name": "a b", "value": "v"}]}},
    {"httpGet": {"port": 80, "httpHeaders": [{"value": "v"}]}},
    {"httpGet": {"port": 80, "httpHeaders": [{"name": "A", "value": "v"}]}},
    {"tcpSocket": {}},
    {"tcpSocket": {"port": 65536}},
    {"tcpSocket": {"port": "a" * 16}},
    {"exec": {"command": ["a"]}, "tcpSocket": {"port": 80}},
    {"exec": {"command": ["a"]}, "httpGet": {"port": 80}, "tcpSocket": {"port": 80}},
)
CASES = [
    *(
        containers(
            f"fields of a {kind}",
            *_on(
                kind,
                *HANDLERS,
                {"grpc": {"port": 80}},
                {"grpc": {"port": 0}},
                {"grpc": {"port": 80, "service": "s"}},
                {"grpc": {"port": 80}, "exec": {"command": ["a"]}},
                {**TCP, "initialDelaySeconds": -1},
                {**TCP, "timeoutSeconds": -1},
                {**TCP, "periodSeconds": -1},
                {**TCP, "successThreshold": -1},
                {**TCP, "successThreshold": 2},
                {**TCP, "failureThreshold": -1},
                {**TCP, "timeoutSeconds": 0, "periodSeconds": 0, "failureThreshold": 0},
                {**TCP, "terminationGracePeriodSeconds": 0},
                {**TCP, "terminationGracePeriodSeconds": -1},
                {**TCP, "terminationGracePeriodSeconds": 5},
                {**TCP, "initialDelaySeconds": 1, "periodSeconds": 2, "failureThreshold": 5},
            ),
        )
        for kind in PROBES
    ),
    containers("handlers of a hook", *(_hook(**row) for row in HANDLERS)),
    containers(
        "hooks",
        {"lifecycle": {}},
        {"lifecycle": {"postStart": {}}},
        {"lifecycle": {"postStart": {}, "preStop": {}}},
        _hook(sleep={"seconds": 5}),
        _hook(sleep={"seconds": 0}),
        _hook(sleep={"seconds": -1}),
        _hook(sleep={"seconds": 31}),
        _hook(sleep={"seconds": 30}),
        _hook(sleep={}),
        _hook(sleep={"seconds": 1}, exec={"command": ["a"]}),
        {"lifecycle": {"postStart": {"sleep": {"seconds": 40}}}},
        {"lifecycle": {"stopSignal": "SIGTERM"}},
        {"lifecycle": {"stopSignal": "NOPE"}},
    ),
    containers(
        "hooks of a pod without grace",
        _hook(sleep={"seconds": 1}),
        _hook(exec={"command": ["a"]}),
        spec={"terminationGracePeriodSeconds": 0},
    ),
    containers(
        "stop signals of a windows pod",
        {"lifecycle": {"stopSignal": "SIGTERM"}},
        {"lifecycle": {"stopSignal": "SIGHUP"}},
        spec={"os": {"name": "windows"}},
    ),
]
