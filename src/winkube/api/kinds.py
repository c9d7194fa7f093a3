"""The kind table: every built-in resource at its stable version, as upstream serves it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from winkube.api.schema import Gvk, Schema

ALL_VERBS: Final = (
    "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    verbs: tuple[str, ...] = ALL_VERBS
    # Made of the others once: every request asks for them many times.
    gvk: Gvk = field(init=False, compare=False, repr=False)
    api_version: str = field(init=False, compare=False, repr=False)
    # As error messages name it: ``deployments.apps``.
    group_resource: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        version, resource = self.version, self.plural
        if self.group:
            version, resource = f"{self.group}/{version}", f"{resource}.{self.group}"
        object.__setattr__(self, "gvk", (self.group, self.version, self.kind))
        object.__setattr__(self, "api_version", version)
        object.__setattr__(self, "group_resource", resource)

    def __hash__(self) -> int:
        return hash(self.gvk)


class KindTable:
    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = tuple(kinds)
        self._by_resource = {(k.group, k.version, k.plural): k for k in self._kinds}
        self._by_gvk = {k.gvk: k for k in self._kinds}

    def by_resource(self, group: str, version: str, plural: str) -> Kind | None:
        return self._by_resource.get((group, version, plural))

    def by_gvk(self, group: str, version: str, kind: str) -> Kind | None:
        return self._by_gvk.get((group, version, kind))

    def all(self) -> tuple[Kind, ...]:
        return self._kinds


# One line per resource: kind, plural, scope (N namespaced, C cluster), short names, categories,
# subresources, verbs; "-" is none. Order within a group is discovery's order.
_TABLE: Final = """
v1
Binding bindings N - - - create
ComponentStatus componentstatuses C cs - - get,list
ConfigMap configmaps N cm - - *
Endpoints endpoints N ep - - *
Event events N ev - - *
LimitRange limitranges N limits - - *
Namespace namespaces C ns - finalize,status create,delete,get,list,patch,update,watch
Node nodes C no - proxy,status *
PersistentVolumeClaim persistentvolumeclaims N pvc - status *
PersistentVolume persistentvolumes C pv - status *
Pod pods N po all attach,binding,ephemeralcontainers,eviction,exec,log,portforward,proxy,resize,status *
PodTemplate podtemplates N - - - *
ReplicationController replicationcontrollers N rc all scale,status *
ResourceQuota resourcequotas N quota - status *
Secret secrets N - - - *
ServiceAccount serviceaccounts N sa - token *
Service services N svc all proxy,status *
admissionregistration.k8s.io/v1
MutatingWebhookConfiguration mutatingwebhookconfigurations C - api-extensions - *
ValidatingAdmissionPolicy validatingadmissionpolicies C - api-extensions status *
ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings C - api-extensions - *
ValidatingWebhookConfiguration validatingwebhookconfigurations C - api-extensions - *
apiextensions.k8s.io/v1
CustomResourceDefinition customresourcedefinitions C crd,crds api-extensions status *
apiregistration.k8s.io/v1
APIService apiservices C - api-extensions status *
apps/v1
ControllerRevision controllerrevisions N - - - *
DaemonSet daemonsets N ds all status *
Deployment deployments N deploy all scale,status *
ReplicaSet replicasets N rs all scale,status *
StatefulSet statefulsets N sts all scale,status *
authentication.k8s.io/v1
SelfSubjectReview selfsubjectreviews C - - - create
TokenReview tokenreviews C - - - create
authorization.k8s.io/v1
LocalSubjectAccessReview localsubjectaccessreviews N - - - create
SelfSubjectAccessReview selfsubjectaccessreviews C - - - create
SelfSubjectRulesReview selfsubjectrulesreviews C - - - create
SubjectAccessReview subjectaccessreviews C - - - create
autoscaling/v2
HorizontalPodAutoscaler horizontalpodautoscalers N hpa all status *
autoscaling/v1
HorizontalPodAutoscaler horizontalpodautoscalers N hpa all status *
batch/v1
CronJob cronjobs N cj all status *
Job jobs N - all status *
certificates.k8s.io/v1
CertificateSigningRequest certificatesigningrequests C csr - approval,status *
coordination.k8s.io/v1
Lease leases N - - - *
discovery.k8s.io/v1
EndpointSlice endpointslices N - - - *
events.k8s.io/v1
Event events N ev - - *
flowcontrol.apiserver.k8s.io/v1
FlowSchema flowschemas C - - status *
PriorityLevelConfiguration prioritylevelconfigurations C - - status *
networking.k8s.io/v1
IngressClass ingressclasses C - - - *
Ingress ingresses N ing - status *
IPAddress ipaddresses C ip - - *
NetworkPolicy networkpolicies N netpol - - *
ServiceCIDR servicecidrs C - - status *
node.k8s.io/v1
RuntimeClass runtimeclasses C - - - *
policy/v1
PodDisruptionBudget poddisruptionbudgets N pdb - status *
rbac.authorization.k8s.io/v1
ClusterRoleBinding clusterrolebindings C - - - *
ClusterRole clusterroles C - - - *
RoleBinding rolebindings N - - - *
Role roles N - - - *
resource.k8s.io/v1
DeviceClass deviceclasses C - - - *
ResourceClaim resourceclaims N - - status *
ResourceClaimTemplate resourceclaimtemplates N - - - *
ResourceSlice resourceslices C - - - *
scheduling.k8s.io/v1
PriorityClass priorityclasses C pc - - *
storage.k8s.io/v1
CSIDriver csidrivers C - - - *
CSINode csinodes C - - - *
CSIStorageCapacity csistoragecapacities N - - - *
StorageClass storageclasses C sc - - *
VolumeAttachment volumeattachments C - - status *
VolumeAttributesClass volumeattributesclasses C vac - - *
"""  # noqa: E501 - a table reads best with one row per line


def _words(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(","))


def _parse_row(group: str, version: str, row: str) -> Kind:
    kind, plural, scope, short, categories, subresources, verbs = row.split()
    return Kind(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        namespaced=scope == "N",
        short_names=_words(short),
        categories=_words(categories),
        subresources=frozenset(_words(subresources)),
        verbs=ALL_VERBS if verbs == "*" else _words(verbs),
    )


def _parse_table(text: str) -> Iterable[Kind]:
    group = version = ""
    for row in text.strip().splitlines():
        if " " in row:
            yield _parse_row(group, version, row)
        else:
            group, _, version = row.rpartition("/")


KINDS: Final = KindTable(_parse_table(_TABLE))


def served_kinds(schema: Schema) -> KindTable:
    """The table of one Kubernetes version: kinds its schema does not know are not served."""
    return KindTable(kind for kind in KINDS.all() if schema.for_kind(kind.gvk) is not None)
