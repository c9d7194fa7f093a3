"""The indexes several controllers share, so that none of them walks a whole cache."""

from collections.abc import Sequence

from winkube.api.meta import controller_of, labels_of, namespace_of
from winkube.api.selector.index import handles
from winkube.api.selector.labels import LabelSelector
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.controllers.pods import node_of

NAMESPACE = "namespace"
OWNER = "owner"
ORPHANS = "orphans"
ORPHAN_LABELS = "labels of orphans"
LABELS = "labels"
NODE = "node"


def add_owner_indexes(informer: Informer) -> None:
    """By namespace, by the controller's uid, and by namespace those nobody controls."""
    informer.add_index(NAMESPACE, lambda obj: (namespace_of(obj),))
    informer.add_index(OWNER, _controller_uid)
    informer.add_index(ORPHANS, _orphan_namespace)
    informer.add_index(ORPHAN_LABELS, lambda obj: () if controller_of(obj) else _labels(obj))


def add_label_index(informer: Informer) -> None:
    """Find what a selector selects without walking the namespace."""
    informer.add_index(NAMESPACE, lambda obj: (namespace_of(obj),))
    informer.add_index(LABELS, _labels)


def selected(informer: Informer, namespace: str, selector: LabelSelector) -> Sequence[JsonObject]:
    return _selected(informer, (LABELS, NAMESPACE), namespace, selector)


def selected_orphans(
    informer: Informer, namespace: str, selector: LabelSelector
) -> Sequence[JsonObject]:
    return _selected(informer, (ORPHAN_LABELS, ORPHANS), namespace, selector)


def _selected(
    informer: Informer, indexes: tuple[str, str], namespace: str, selector: LabelSelector
) -> Sequence[JsonObject]:
    by_label, all_of = indexes
    labels = handles(selector)
    if labels is None or any(value is None for _, value in labels):
        possible = informer.by_index(all_of, namespace)
    else:
        listed = (informer.by_index(by_label, f"{namespace}/{k}={v}") for k, v in labels)
        possible = [obj for found in listed for obj in found]
    return [obj for obj in possible if selector.matches(labels_of(obj))]


def _labels(obj: JsonObject) -> list[str]:
    namespace = namespace_of(obj)
    return [f"{namespace}/{key}={value}" for key, value in labels_of(obj).items()]


def add_node_index(informer: Informer) -> None:
    informer.add_index(NODE, lambda pod: (node_of(pod),))


def _controller_uid(obj: JsonObject) -> Sequence[str]:
    owner = controller_of(obj)
    return () if owner is None else (owner["uid"],)


def _orphan_namespace(obj: JsonObject) -> Sequence[str]:
    return (namespace_of(obj),) if controller_of(obj) is None else ()
