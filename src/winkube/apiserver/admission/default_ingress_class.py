"""An ingress that names no class gets the default one, if there is one."""

from typing import ClassVar, Final

from winkube.api.meta import annotations_of
from winkube.api.warnings.network import INGRESS_CLASS_NOTE
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.admission.default_storage_class import newest_default
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

_GROUP: Final = "networking.k8s.io"
_MARK: Final = "ingressclass.kubernetes.io/is-default-class"


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
        noted = INGRESS_CLASS_NOTE in annotations_of(ingress)
        if noted or spec.get("ingressClassName") is not None:
            return
        name = newest_default(self._classes, _is_default)
        if name is not None:
            spec["ingressClassName"] = name


def _is_default(ingress_class: JsonObject) -> bool:
    return annotations_of(ingress_class).get(_MARK) == "true"
