"""pods/log: the kubelet's stream, passed on."""

from typing import Final

from aiohttp import web

from winkube.api.errors import BadRequestError, InvalidError
from winkube.api.go.time import is_time
from winkube.api.validation.problems import Problems
from winkube.apiserver.call import Call, not_allowed
from winkube.apiserver.options import parse_int
from winkube.apiserver.registry.core import get
from winkube.apiserver.streaming.kubelet import Kubelets, pick_container

_PASSED: Final = (
    "follow",
    "previous",
    "timestamps",
    "sinceSeconds",
    "sinceTime",
    "tailLines",
    "limitBytes",
)
_SMALLEST: Final = {"tailLines": 0, "limitBytes": 1, "sinceSeconds": 1}


class Log:
    def __init__(self, kubelets: Kubelets) -> None:
        self._kubelets = kubelets

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb != "get":
            raise not_allowed()
        _check(call)
        pod = get(call.served, *call.place).load()
        container = pick_container(pod, call.query.get("container", ""))
        node = pod["spec"].get("nodeName")
        if not node:
            return web.Response(status=204)  # not on a host yet: nothing was logged
        namespace, name = call.place
        url = self._kubelets.pod_url(pod, f"/containerLogs/{namespace}/{name}/{container}")
        passed = {key: call.query[key] for key in _PASSED if call.query.get(key)}
        return await self._kubelets.forward(call.request, url.with_query(passed), judge=True)


def _check(call: Call) -> None:
    numbers = {field: parse_int(call.query[field]) for field in _SMALLEST if field in call.query}
    since = call.query.get("sinceTime")
    if since and not is_time(since):
        layout = "2006-01-02T15:04:05Z07:00"
        raise BadRequestError(
            f'parsing time "{since}" as "{layout}": cannot parse "{since}" as "2006"'
        )
    problems = Problems()
    for field, number in numbers.items():
        if number < _SMALLEST[field]:
            bound = "or equal to 0" if _SMALLEST[field] == 0 else "0"
            problems.invalid(field, number, f"must be greater than {bound}")
    if since and "sinceSeconds" in numbers:
        text = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        problems.forbidden("[]", text)
    if "stream" in call.query:
        problems.forbidden("stream", "may not be specified")
    if problems:
        raise InvalidError.of("PodLogOptions", call.target.name, problems.causes)
