"""The order of admission. A step that reads what another fills in comes after it."""

from winkube.apiserver.admission.chain import Step
from winkube.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from winkube.apiserver.served import Resources


def admission_steps(resources: Resources) -> tuple[Step, ...]:
    return (NamespaceLifecycle(resources),)
