"""The indexes several controllers share, so that none of them walks a whole cache."""

from collections.abc import Sequence

from winkube.api.meta import controller_of, namespace_of
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.controllers.pods import node_of

NAMESPACE = "namespace"
OWNER = "owner"
ORPHANS = "orphans"
NODE = "node"


def add_owner_indexes(informer: Informer) -> None:
    """By namespace, by the controller's uid, and by namespace those nobody controls."""
    informer.add_index(NAMESPACE, lambda obj: (namespace_of(obj),))
    informer.add_index(OWNER, _controller_uid)
    informer.add_index(ORPHANS, _orphan_namespace)


def add_node_index(informer: Informer) -> None:
    informer.add_index(NODE, lambda pod: (node_of(pod),))


def _controller_uid(obj: JsonObject) -> Sequence[str]:
    owner = controller_of(obj)
    return () if owner is None else (owner["uid"],)


def _orphan_namespace(obj: JsonObject) -> Sequence[str]:
    return (namespace_of(obj),) if controller_of(obj) is None else ()
