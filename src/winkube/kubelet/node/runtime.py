"""Ask the runtime how it is: version, readiness, images."""

from typing import Any, Final

from winkube.kubelet.node.status import RuntimeHealth
from winkube.kubelet.pod.state import CriCaller
from winkube.wire import cri
from winkube.wire.cri_client import CriError

_SECONDS: Final = 5.0


async def read_health(caller: CriCaller) -> RuntimeHealth:
    """Never raises: a runtime that does not answer is a problem to report."""
    try:
        version = await caller.call("Version", cri.VersionRequest(), timeout=_SECONDS)
        answer = await caller.call("Status", cri.StatusRequest(), timeout=_SECONDS)
    except CriError as error:
        return RuntimeHealth(problems=(f"container runtime is down: {error}",))
    name = f"{version.runtime_name}://{version.runtime_version}"
    return RuntimeHealth(name, tuple(_problems(answer.status.conditions)))


def _problems(conditions: Any) -> list[str]:
    """The runtime and its network have to be ready; other conditions are its own business."""
    found = {entry.type: entry for entry in conditions}
    problems = []
    for kind, noun in (("RuntimeReady", "runtime"), ("NetworkReady", "runtime network")):
        entry = found.get(kind)
        if entry is None:
            problems.append(f"container {noun} status check may not have completed yet")
        elif not entry.status:
            problems.append(
                f"container {noun} not ready: {kind}=false reason:{entry.reason} "
                f"message:{entry.message}"
            )
    return problems


async def list_images(caller: CriCaller) -> list[Any]:
    try:
        answer = await caller.call("ListImages", cri.ListImagesRequest(), timeout=_SECONDS)
    except CriError:
        return []
    return list(answer.images)
