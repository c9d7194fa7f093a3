"""What kubelets may do: read what their pods refer to, write about themselves and their pods.

Theory of operation (k8s.io/kubernetes: plugin/pkg/auth/authorizer/node). A kubelet's rights follow
the pods bound to its node: a secret may be read while some pod of the node names it, and no longer.
Rights that do not depend on pods are a short list of rules. What this allows is narrowed further by
the NodeRestriction admission step, which sees the objects themselves.
"""

from collections.abc import Callable, Iterator
from typing import Final

from winkube.api.errors import ApiError
from winkube.api.meta import labels_of
from winkube.api.selector.fields import parse_field_selector
from winkube.api.volumes import LOCAL_PATH_NODE
from winkube.apiserver.auth.authz import Attributes, Decision, Rules
from winkube.apiserver.auth.node_verdict import NO, YES, only_get, only_read, refuse, related
from winkube.apiserver.auth.rbac import rule_allows
from winkube.apiserver.auth.references import ACCOUNT, CLAIM, CONFIG_MAP, SECRET, references_of
from winkube.apiserver.auth.user import User, is_node, node_of
from winkube.apiserver.followed import Followed
from winkube.apiserver.item import Item
from winkube.apiserver.served import Resources, Served
from winkube.base.types import JsonObject

LEASE_NAMESPACE: Final = "kube-node-lease"
_READ: Final = ["get", "list", "watch"]
_OWNED: Final = ("get", "create", "update", "patch", "delete")

References = frozenset[tuple[str, str]]


def _rule(group: str, resources: list[str], verbs: list[str]) -> JsonObject:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


# Allowed whatever runs on the node; NodeRestriction looks at whose object it is.
NODE_RULES: Final = (
    _rule("", ["services"], _READ),
    _rule("", ["nodes"], ["create"]),
    _rule("", ["nodes", "nodes/status"], ["update", "patch"]),
    _rule("", ["pods"], ["create", "delete"]),
    _rule("", ["pods/status"], ["update", "patch"]),
    _rule("", ["events"], ["create", "update", "patch"]),
    _rule("authentication.k8s.io", ["tokenreviews", "selfsubjectreviews"], ["create"]),
    _rule(
        "authorization.k8s.io",
        ["subjectaccessreviews", "localsubjectaccessreviews"],
        ["create"],
    ),
    _rule("certificates.k8s.io", ["certificatesigningrequests"], ["create", *_READ]),
    _rule("node.k8s.io", ["runtimeclasses"], _READ),
    _rule("storage.k8s.io", ["csidrivers"], _READ),
)


class NodeAuthorizer:
    def __init__(self, resources: Resources) -> None:
        self._pods = resources.core("pods")
        self._volumes = resources.core("persistentvolumes")
        self._bound = BoundPods(self._pods)
        # By group and resource: who is asked instead of the rules.
        self._questions: dict[tuple[str, str], Callable[[str, Attributes], Decision]] = {
            ("coordination.k8s.io", "leases"): _lease,
            ("storage.k8s.io", "csinodes"): _csi_node,
            ("storage.k8s.io", "volumeattachments"): _untold,
            ("resource.k8s.io", "resourceclaims"): _untold,
            ("", "nodes"): _node,
            ("", "pods"): self._pod,
            ("", "persistentvolumes"): self._volume,
            ("", "serviceaccounts"): self._account,
            ("", CLAIM): self._claim,
            ("", SECRET): self._read,
            ("", CONFIG_MAP): self._read,
        }

    def authorize(self, attributes: Attributes) -> Decision:
        if not is_node(attributes.user) or attributes.path:
            return NO
        node = node_of(attributes.user)
        if not node:
            return refuse(f'unknown node for user "{attributes.user.name}"')
        question = self._questions.get((attributes.group, attributes.resource))
        if question is not None:
            return question(node, attributes)
        return Decision(any(rule_allows(rule, attributes) for rule in NODE_RULES))

    def rules(self, user: User, namespace: str) -> Rules:
        gap = "node authorizer does not support user rule resolution" if is_node(user) else ""
        return Rules([], [], gap)

    def _read(self, node: str, asked: Attributes) -> Decision:
        problem = only_read(asked)
        if problem:
            return refuse(problem)
        return related(node, asked, self._is_referred(node, asked, asked.resource))

    def _claim(self, node: str, asked: Attributes) -> Decision:
        if asked.subresource == "status":
            writes = asked.verb in ("update", "patch")
            problem = "" if writes else "can only get/update/patch this type"
        else:
            problem = only_get(asked)
        if problem:
            return refuse(problem)
        return related(node, asked, self._is_referred(node, asked, CLAIM))

    def _account(self, node: str, asked: Attributes) -> Decision:
        """Credential providers of its kubelet read the accounts, its pods have their tokens."""
        if asked.verb == "get" and not asked.subresource:
            problem = only_read(asked)
        elif asked.verb != "create" or not asked.name:
            problem = "can only create tokens for individual service accounts"
        elif asked.subresource != "token":
            problem = "can only create token subresource of serviceaccount"
        else:
            problem = ""
        if problem:
            return refuse(problem)
        return related(node, asked, self._is_referred(node, asked, ACCOUNT))

    def _pod(self, node: str, asked: Attributes) -> Decision:
        part = asked.full_resource
        if any(rule_allows(rule, asked) for rule in NODE_RULES):
            return YES
        if part == "pods/eviction" and asked.verb == "create":
            return YES  # NodeRestriction sees whose pod it is
        if part != "pods" or asked.verb not in _READ:
            return NO
        if asked.verb != "get" and not asked.name:
            if _selected(asked, self._pods, "spec.nodeName") == node:
                return YES
            return refuse("can only list/watch pods with spec.nodeName field selector")
        return related(node, asked, self._is_bound(node, asked))

    def _is_bound(self, node: str, asked: Attributes) -> bool:
        item = self._pods.cache.get(self._pods.key(asked.namespace, asked.name))
        return item is not None and _node_name(item) == node

    def _volume(self, node: str, asked: Attributes) -> Decision:
        """Read what its pods claim, and end the volumes that are folders of the node."""
        if asked.verb in ("list", "watch") and not asked.subresource:
            return YES
        item = self._volumes.cache.get(self._volumes.key("", asked.name))
        volume = {} if item is None else item.load()
        if item is not None and labels_of(volume).get(LOCAL_PATH_NODE) == node:
            return Decision(asked.verb in ("get", "update", "patch"))
        problem = only_get(asked)
        if problem:
            return refuse(problem)
        claim = (volume.get("spec") or {}).get("claimRef") or {}
        wanted = (CLAIM, claim.get("name", ""))
        pods = self._pods_of(node, claim.get("namespace", ""))
        return related(node, asked, any(wanted in found for found in pods))

    def _is_referred(self, node: str, asked: Attributes, plural: str) -> bool:
        wanted = (plural, asked.name)
        return any(wanted in found for found in self._pods_of(node, asked.namespace))

    def _pods_of(self, node: str, namespace: str) -> Iterator[References]:
        """The references of each pod of a namespace that is bound to the node."""
        if not namespace:
            return
        self._bound.catch_up()
        yield from self._bound.references(node, namespace)


class BoundPods(Followed):
    """What the pods of a node refer to, by namespace; read when it is first asked for."""

    def __init__(self, served: Served) -> None:
        super().__init__(served)
        self._places: dict[str, tuple[str, str]] = {}
        self._pods: dict[tuple[str, str], dict[str, Item | References]] = {}

    def references(self, node: str, namespace: str) -> Iterator[References]:
        pods = self._pods.get((node, namespace)) or {}
        for key, found in pods.items():
            if isinstance(found, Item):
                found = pods[key] = references_of(found.load())
            yield found

    def clear(self) -> None:
        self._places.clear()
        self._pods.clear()

    def put(self, item: Item) -> None:
        node = _node_name(item)
        if node:
            place = self._places[item.key] = (node, item.namespace)
            self._pods.setdefault(place, {})[item.key] = item

    def remove(self, key: str) -> None:
        place = self._places.pop(key, None)
        if place is not None:
            del self._pods[place][key]
            if not self._pods[place]:
                del self._pods[place]


def _node_name(item: Item) -> str:
    return str((item.view.get("spec") or {}).get("nodeName") or "")


def _lease(node: str, asked: Attributes) -> Decision:
    if asked.verb not in _OWNED:
        return refuse("can only get, create, update, patch, or delete a node lease")
    if asked.namespace != LEASE_NAMESPACE:
        return refuse(f'can only access leases in the "{LEASE_NAMESPACE}" system namespace')
    # The name of what is made is in the body: NodeRestriction compares it.
    if asked.verb != "create" and asked.name != node:
        return refuse("can only access node lease with the same name as the requesting node")
    return YES


def _csi_node(node: str, asked: Attributes) -> Decision:
    if asked.verb not in _OWNED:
        return refuse("can only get, create, update, patch, or delete a CSINode")
    if asked.subresource:
        return refuse("cannot authorize CSINode subresources")
    if asked.verb != "create" and asked.name != node:
        return refuse("can only access CSINode with the same name as the requesting node")
    return YES


def _node(node: str, asked: Attributes) -> Decision:
    if any(rule_allows(rule, asked) for rule in NODE_RULES):
        return YES
    if asked.subresource or asked.verb not in _READ:
        return NO
    if asked.name == node:
        return YES
    what = f"'{asked.name}'" if asked.name else "all nodes"
    return refuse(f"node '{node}' cannot read {what}, only its own Node object")


def _untold(node: str, asked: Attributes) -> Decision:
    """Nothing says which of these a node has to do with."""
    problem = only_get(asked)
    return refuse(problem) if problem else related(node, asked, False)


def _selected(asked: Attributes, served: Served, field: str) -> str | None:
    """The one value a list is narrowed to by its field selector."""
    try:
        return parse_field_selector(asked.fields, served.kind).exact(field)
    except ApiError:
        return None
