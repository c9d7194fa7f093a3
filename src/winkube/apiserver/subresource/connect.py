"""pods/exec, attach and portforward: find the kubelet, check the request, hand over the stream."""

from typing import Final, Literal, cast

from aiohttp import web

from winkube.api.errors import BadRequestError
from winkube.api.go.number import NumberError, parse_uint
from winkube.apiserver.admission.chain import Chain
from winkube.apiserver.call import Call, not_allowed
from winkube.apiserver.options import parse_flag
from winkube.apiserver.registry.core import get
from winkube.apiserver.streaming.kubelet import Kubelets, pick_container
from winkube.apiserver.streaming.stream import proxy_stream
from winkube.apiserver.subresource.admitted import admit_connection
from winkube.base.types import JsonObject

StreamKind = Literal["exec", "attach", "portforward"]

# What the API calls a stream, and what the kubelet calls it.
_STREAMS: Final = (("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty"))
_PATHS: Final = {"exec": "exec", "attach": "attach", "portforward": "portForward"}
_ENDED: Final = ("Succeeded", "Failed")


class Connect:
    def __init__(self, kubelets: Kubelets, admission: Chain, kind: StreamKind) -> None:
        self._kubelets = kubelets
        self._admission = admission
        self._kind = kind

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb not in ("get", "create"):
            raise not_allowed()
        options = await admit_connection(self._admission, call, self._options(call))
        pod = get(call.served, *call.place).load()
        namespace, name = call.place
        path = f"/{_PATHS[self._kind]}/{namespace}/{name}"
        if self._kind == "portforward":
            query = [("port", str(port)) for port in options.get("ports") or ()]
        else:
            path += f"/{pick_container(pod, options.get('container') or '')}"
            query = [(theirs, "1") for ours, theirs in _STREAMS if options.get(ours)]
            query += [("command", word) for word in options.get("command") or ()]
        if not pod["spec"].get("nodeName"):
            raise BadRequestError(f"pod {name} does not have a host assigned")
        url = self._kubelets.pod_url(pod, path).with_query(query)
        self._check(pod, [word for key, word in query if key == "command"])
        if "upgrade" not in call.request.headers.get("Connection", "").lower():
            raise BadRequestError("Upgrade request required")
        request = cast("web.Request", call.request)
        return await proxy_stream(request, url, self._kubelets.context, kind=self._kind)

    def _options(self, call: Call) -> JsonObject:
        """What the query asks for, as a document."""
        parameters = call.request.rel_url.query
        if self._kind == "portforward":
            said = parameters.getall("ports", [])
            ports = [_port(text) for texts in said for text in texts.split(",")]
            return {"ports": ports} if ports else {}
        options: JsonObject = {ours: True for ours, _ in _STREAMS if _asked(parameters.get(ours))}
        if parameters.get("container"):
            options["container"] = parameters["container"]
        if self._kind == "exec":
            options["command"] = parameters.getall("command", []) or None
        return options

    def _check(self, pod: JsonObject, command: list[str]) -> None:
        """What the kubelet would say."""
        if self._kind != "exec":
            return
        if not command:
            raise BadRequestError("you must specify at least 1 command for the container")
        phase = (pod.get("status") or {}).get("phase")
        if phase in _ENDED:
            raise BadRequestError(
                "cannot exec into a container in a completed pod; current phase is " + phase
            )


def _port(text: str) -> int:
    try:
        return parse_uint(text, 16)
    except NumberError as error:
        raise BadRequestError(f"cannot convert to []int32: strconv.ParseUint: {error}") from error


def _asked(value: str | None) -> bool:
    return value is not None and parse_flag(value)
