"""An ingress that names no class gets the default one, if there is one."""

from typing import ClassVar, Final

from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.admission.default_storage_class import newest_marked
from winkube.apiserver.served import Resources

_GROUP: Final = "networking.k8s.io"
_MARK: Final = "ingressclass.kubernetes.io/is-default-class"
_OLD_NOTE: Final = "kubernetes.io/ingress.class"


class DefaultIngressClass:
    about: ClassVar = frozenset({f"ingresses.{_GROUP}"})

    def __init__(self, resources: Resources) -> None:
        self._classes = resources.find(_GROUP, "v1", "ingressclasses")

    async def admit(self, request: Admission) -> None:
        ingress = request.obj
        if request.operation != "CREATE" or request.subresource:
            return
        if ingress is None or self._classes is None:
            return
        spec = ingress.setdefault("spec", {})
        notes = ingress["metadata"].get("annotations") or {}
        if spec.get("ingressClassName") is not None or _OLD_NOTE in notes:
            return
        name = newest_marked(self._classes, _MARK)
        if name is not None:
            spec["ingressClassName"] = name
