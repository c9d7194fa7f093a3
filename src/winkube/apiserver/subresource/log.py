"""pods/log: the kubelet's stream, passed on."""

from typing import Final

from aiohttp import web

from winkube.api.errors import Cause, InvalidError
from winkube.apiserver.call import Call, not_allowed
from winkube.apiserver.kubelet import Kubelets, pick_container
from winkube.apiserver.registry.core import get

_PASSED: Final = (
    "follow",
    "previous",
    "timestamps",
    "sinceSeconds",
    "sinceTime",
    "tailLines",
    "limitBytes",
    "stream",
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
        container = pick_container(pod, call.query.get("container", ""), default_first=False)
        node = pod["spec"].get("nodeName")
        if not node:
            return web.Response(text="")  # not on a host yet: nothing was logged
        namespace, name = call.place
        url = self._kubelets.url(node, f"/containerLogs/{namespace}/{name}/{container}")
        passed = {key: call.query[key] for key in _PASSED if call.query.get(key)}
        return await self._kubelets.forward(call.request, url.with_query(passed), judge=True)


def _check(call: Call) -> None:
    causes = []
    for field, smallest in _SMALLEST.items():
        text = call.query.get(field)
        if text is None:
            continue
        number = int(text) if text.lstrip("-").isdigit() else -1
        if number < smallest:
            rule = f"must be greater than {'or equal to ' if smallest == 0 else ''}0"
            causes.append(Cause("FieldValueInvalid", f"Invalid value: {number}: {rule}", field))
    if call.query.get("sinceSeconds") and call.query.get("sinceTime"):
        text = "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(Cause("FieldValueForbidden", text, ""))
    if causes:
        raise InvalidError.of("PodLogOptions", call.target.name, causes)
