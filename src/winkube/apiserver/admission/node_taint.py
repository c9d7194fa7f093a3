"""A new node takes no pods until it has said that it is ready."""

from typing import ClassVar, Final

from winkube.apiserver.admission.chain import Admission

_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition:
    about: ClassVar = frozenset({"nodes"})

    async def admit(self, request: Admission) -> None:
        if request.operation != "CREATE" or not request.is_for("nodes") or request.obj is None:
            return
        spec = request.obj.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(
            (taint.get("key"), taint.get("effect")) == (_NOT_READY["key"], _NOT_READY["effect"])
            for taint in taints
        ):
            spec["taints"] = [*taints, dict(_NOT_READY)]
