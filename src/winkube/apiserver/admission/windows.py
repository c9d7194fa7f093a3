"""The Windows rules as a step of admission: warnings, placing, refusals; rules/admission decides.

Not one of upstream's steps: in a cluster without Windows nodes, and without the label on a
namespace, it says and does nothing.
"""

from collections.abc import Hashable
from typing import ClassVar

from winkube.api.patch import json_patch
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.admission.windows_world import StoredWorld
from winkube.apiserver.auth.user import User
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject
from winkube.rules.admission.answer import (
    ABOUT,
    NAMESPACES,
    Question,
    WindowsAdmission,
    is_person,
)
from winkube.rules.admission.mode import WARN, Mode, mode_of


class WindowsRules:
    about: ClassVar = ABOUT

    def __init__(self, resources: Resources, version: str) -> None:
        self._namespaces = resources.core("namespaces")
        self._world = StoredWorld(resources, version)
        self._rules = WindowsAdmission(self._world)

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        item = self._namespaces.cache.get(self._namespaces.key("", namespace))
        return None if item is None else (item.revision, self._world.sight())

    async def admit(self, request: Admission) -> None:
        obj = request.obj
        if obj is None or request.subresource or request.served.kind.plural == NAMESPACES:
            return
        if self._mode(request).mutates:
            operations = self._rules.changes(_question(request))
            if operations:
                patched = json_patch(obj, list(operations))
                obj.clear()
                obj.update(patched)

    async def validate(self, request: Admission) -> None:
        obj = request.obj
        if obj is None or request.subresource:
            return
        mode = self._mode(request)
        # Most pods are made by controllers, who are told nothing.
        if not mode.enforces and not (mode.warns and is_person(request.user.name)):
            return
        opinion = self._rules.opinion(_question(request), mode)
        request.warnings.extend(opinion.warnings)
        if opinion.refusal:
            raise request.forbidden(opinion.refusal)

    def _mode(self, request: Admission) -> Mode:
        if request.served.kind.plural == NAMESPACES:
            return WARN
        item = self._namespaces.cache.get(self._namespaces.key("", request.namespace))
        return mode_of(request.namespace, item.labels if item is not None else {})


def _question(request: Admission) -> Question:
    assert request.obj is not None
    return Question(
        request.operation,
        request.served.kind.group_resource,
        request.user.name,
        request.obj,
        request.old,
        request.subresource,
    )
