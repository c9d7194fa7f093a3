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
from winkube.apiserver.auth.rbac import rule_allows
from winkube.apiserver.auth.references import ACCOUNT, CLAIM, CONFIG_MAP, SECRET, references_of
from winkube.apiserver.auth.user import User, node_of
from winkube.apiserver.followed import Followed
from winkube.apiserver.item import Item
from winkube.apiserver.served import Resources, Served
from winkube.base.types import JsonObject

LEASE_NAMESPACE: Final = "kube-node-lease"
_READ: Final = ["get", "list", "watch"]
_OUTSIDE: Final = "no relationship found between node '{node}' and this object"

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
        # By group and resource: whether the object has to do with the node.
        self._questions: dict[tuple[str, str], Callable[[str, Attributes], bool]] = {
            ("coordination.k8s.io", "leases"): _is_own_lease,
            ("storage.k8s.io", "csinodes"): _is_named_alike,
            ("", "nodes"): lambda node, asked: asked.verb in _READ and asked.name == node,
            ("", "pods"): self._may_see_pod,
            ("", "pods/eviction"): self._may_evict,
            ("", "persistentvolumes"): self._may_use_volume,
            ("", "serviceaccounts/token"): self._may_ask_token,
            **{("", plural): self._may_read for plural in (SECRET, CONFIG_MAP, CLAIM)},
        }

    def authorize(self, attributes: Attributes) -> Decision:
        node = node_of(attributes.user)
        if not node or attributes.path:
            return Decision(allowed=False)
        if any(rule_allows(rule, attributes) for rule in NODE_RULES):
            return Decision(allowed=True)
        allowed = self._by_relation(node, attributes)
        return Decision(allowed, "" if allowed else _OUTSIDE.format(node=node))

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules(list(NODE_RULES) if node_of(user) else [], [])

    def _by_relation(self, node: str, asked: Attributes) -> bool:
        question = self._questions.get((asked.group, asked.full_resource))
        return question is not None and question(node, asked)

    def _may_see_pod(self, node: str, asked: Attributes) -> bool:
        if asked.verb == "get":
            return self._is_bound(node, asked)
        return asked.verb in _READ and _selected(asked, self._pods, "spec.nodeName") == node

    def _may_evict(self, node: str, asked: Attributes) -> bool:
        return asked.verb == "create" and self._is_bound(node, asked)

    def _is_bound(self, node: str, asked: Attributes) -> bool:
        item = self._pods.cache.get(self._pods.key(asked.namespace, asked.name))
        return item is not None and _node_name(item) == node

    def _may_use_volume(self, node: str, asked: Attributes) -> bool:
        """Read what its pods claim, and end the volumes that are folders of the node."""
        if asked.verb in ("list", "watch"):
            return True
        item = self._volumes.cache.get(self._volumes.key("", asked.name))
        if item is None:
            return False
        volume = item.load()
        if labels_of(volume).get(LOCAL_PATH_NODE) == node:
            return asked.verb in ("get", "update", "patch")
        claim = (volume.get("spec") or {}).get("claimRef") or {}
        wanted = (CLAIM, claim.get("name", ""))
        pods = self._pods_of(node, claim.get("namespace", ""))
        return asked.verb == "get" and any(wanted in found for found in pods)

    def _may_ask_token(self, node: str, asked: Attributes) -> bool:
        return asked.verb == "create" and self._is_referred(node, asked, ACCOUNT)

    def _may_read(self, node: str, asked: Attributes) -> bool:
        return asked.verb in _READ and self._is_referred(node, asked, asked.resource)

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


def _is_own_lease(node: str, asked: Attributes) -> bool:
    if asked.full_resource != "leases" or asked.namespace != LEASE_NAMESPACE:
        return False
    if asked.verb == "create":
        return True  # the name is in the body: NodeRestriction compares it
    return asked.verb in ("get", "update", "patch", "delete") and asked.name == node


def _is_named_alike(node: str, asked: Attributes) -> bool:
    return asked.verb in ("get", "update", "patch", "create") and asked.name in ("", node)


def _selected(asked: Attributes, served: Served, field: str) -> str | None:
    """The one value a list is narrowed to by its field selector."""
    try:
        return parse_field_selector(asked.fields, served.kind).exact(field)
    except ApiError:
        return None
