"""Events about objects of metadata, spec and status, without managedFields.

These are as large as the rest and nobody here wants them: they are read over instead of built and
thrown away.
"""

from typing import Any, Final, TypedDict

import msgspec

from winkube.client.resource import NODES, PODS, Resource

# Of whose many changes everybody is told.
LEAN: Final[frozenset[Resource]] = frozenset({PODS, NODES})


# All of ObjectMeta but managedFields.
class _Metadata(TypedDict, total=False):
    name: Any
    generateName: Any
    namespace: Any
    selfLink: Any
    uid: Any
    resourceVersion: Any
    generation: Any
    creationTimestamp: Any
    deletionTimestamp: Any
    deletionGracePeriodSeconds: Any
    labels: Any
    annotations: Any
    ownerReferences: Any
    finalizers: Any


class _Object(TypedDict, total=False):
    kind: Any
    apiVersion: Any
    metadata: _Metadata
    spec: Any
    status: Any


class _Event(TypedDict):
    type: Any
    object: _Object


_EVENT: Final = msgspec.json.Decoder(_Event)


def read_lean(line: bytes) -> Any:
    """Raises ValueError for what is no event of such an object."""
    return _EVENT.decode(line)
