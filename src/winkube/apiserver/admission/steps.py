"""The order of admission. A step that reads what another fills in comes after it."""

from winkube.apiserver.admission.certificates import Certificates
from winkube.apiserver.admission.chain import Step
from winkube.apiserver.admission.default_storage_class import DefaultStorageClass
from winkube.apiserver.admission.default_tolerations import DefaultTolerationSeconds
from winkube.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from winkube.apiserver.admission.node_restriction import NodeRestriction
from winkube.apiserver.admission.priority import Priority
from winkube.apiserver.admission.rbac_escalation import RbacEscalation
from winkube.apiserver.admission.service_account import ServiceAccount
from winkube.apiserver.admission.storage_protection import StorageObjectInUseProtection
from winkube.apiserver.auth.authz import Authorizer
from winkube.apiserver.served import Resources


def admission_steps(resources: Resources, authorizer: Authorizer) -> tuple[Step, ...]:
    return (
        NamespaceLifecycle(resources),
        NodeRestriction(),
        RbacEscalation(authorizer, resources),
        Certificates(authorizer),
        ServiceAccount(resources),
        DefaultTolerationSeconds(),
        Priority(resources),
        DefaultStorageClass(resources),
        StorageObjectInUseProtection(),
    )
