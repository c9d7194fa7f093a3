"""What a kubelet is told when it asks for what is not its business, in upstream's words.

Who asks decides what has to do with a node; here is how that is said
(k8s.io/kubernetes: plugin/pkg/auth/authorizer/node).
"""

from typing import Final

from winkube.apiserver.auth.authz import Attributes, Decision

YES: Final = Decision(allowed=True)
NO: Final = Decision(allowed=False)


def refuse(reason: str) -> Decision:
    return Decision(allowed=False, reason=reason)


def related(node: str, asked: Attributes, holds: bool) -> Decision:
    if not asked.name:
        return refuse("No Object name found")
    if holds:
        return YES
    return refuse(f"no relationship found between node '{node}' and this object")


def only_read(asked: Attributes) -> str:
    """Why this is not the reading of an object in a namespace, if it is not."""
    if asked.verb not in ("get", "list", "watch"):
        return "can only read resources of this type"
    if asked.subresource:
        return "cannot read subresource"
    return "" if asked.namespace else "can only read namespaced object of this type"


def only_get(asked: Attributes) -> str:
    if asked.verb != "get":
        return "can only get individual resources of this type"
    return "cannot get subresource" if asked.subresource else ""
