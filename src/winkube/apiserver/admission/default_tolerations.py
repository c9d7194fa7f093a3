"""Pods stay five minutes on a node that is not ready or reachable, unless they say otherwise."""

from collections.abc import Hashable
from typing import ClassVar, Final

from winkube.apiserver.admission.chain import NOTHING_SEEN, Admission
from winkube.apiserver.auth.user import User
from winkube.base.types import JsonObject

_SECONDS: Final = 300
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class DefaultTolerationSeconds:
    about: ClassVar = frozenset({"pods"})

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        return NOTHING_SEEN

    async def admit(self, request: Admission) -> None:
        if not request.is_for("pods") or request.obj is None:
            return
        spec = request.obj["spec"]
        tolerations: list[JsonObject] = list(spec.get("tolerations") or ())
        for taint in _TAINTS:
            if not any(_covers(entry, taint) for entry in tolerations):
                tolerations.append(
                    {
                        "key": taint,
                        "operator": "Exists",
                        "effect": "NoExecute",
                        "tolerationSeconds": _SECONDS,
                    }
                )
        spec["tolerations"] = tolerations


def _covers(toleration: JsonObject, taint: str) -> bool:
    return toleration.get("key", "") in ("", taint) and toleration.get("effect", "") in (
        "",
        "NoExecute",
    )
