"""The order of admission, upstream's own: first what completes an object, then what judges it."""

from winkube.api.schema import Schema
from winkube.apiserver.admission.certificates import Certificates
from winkube.apiserver.admission.chain import Chain, Judging
from winkube.apiserver.admission.claim_resize import PersistentVolumeClaimResize
from winkube.apiserver.admission.default_ingress_class import DefaultIngressClass
from winkube.apiserver.admission.default_storage_class import DefaultStorageClass
from winkube.apiserver.admission.default_tolerations import DefaultTolerationSeconds
from winkube.apiserver.admission.limit_ranger import LimitRanger
from winkube.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from winkube.apiserver.admission.node_restriction import NodeRestriction
from winkube.apiserver.admission.node_taint import TaintNodesByCondition
from winkube.apiserver.admission.pod_security.step import PodSecurity
from winkube.apiserver.admission.priority import Priority
from winkube.apiserver.admission.quota import ResourceQuota
from winkube.apiserver.admission.rbac_escalation import RbacEscalation
from winkube.apiserver.admission.runtime_class import RuntimeClass
from winkube.apiserver.admission.service_account import ServiceAccount
from winkube.apiserver.admission.storage_protection import StorageObjectInUseProtection
from winkube.apiserver.admission.webhook.caller import Caller
from winkube.apiserver.admission.webhook.steps import (
    MutatingWebhooks,
    ValidatingWebhooks,
)
from winkube.apiserver.admission.windows import WindowsRules
from winkube.apiserver.auth.authz import Authorizer
from winkube.apiserver.served import Resources
from winkube.apiserver.storage import Storage
from winkube.base.clock import Clock


def admission_chain(
    resources: Resources,
    authorizer: Authorizer,
    storage: Storage,
    clock: Clock,
    schema: Schema,
) -> Chain:
    limits, priority = LimitRanger(resources), Priority(resources)
    accounts = ServiceAccount(resources)
    runtime, caller = RuntimeClass(resources), Caller(resources)
    windows = WindowsRules(resources, schema.version)
    mutating = (
        NamespaceLifecycle(resources),
        limits,
        accounts,
        NodeRestriction(resources),
        TaintNodesByCondition(),
        priority,
        DefaultTolerationSeconds(),
        DefaultStorageClass(resources),
        StorageObjectInUseProtection(),
        runtime,
        DefaultIngressClass(resources),
        # Ours, where upstream would call our webhook: a RuntimeClass has spoken already.
        windows,
        MutatingWebhooks(resources, caller, schema),
        # No admission upstream but part of storing roles: it sees what the steps above made.
        RbacEscalation(authorizer, resources),
    )
    validating = (
        limits,
        accounts,
        PodSecurity(resources),
        priority,
        PersistentVolumeClaimResize(resources),
        runtime,
        Judging(Certificates(authorizer), "certificatesigningrequests.certificates.k8s.io"),
        windows,
        ValidatingWebhooks(resources, caller),
        # Last: what is refused by others takes nothing.
        ResourceQuota(resources, storage, clock),
    )
    return Chain(mutating, validating, close=caller.close)
