"""Whether the API server still has this very pod."""

from winkube.api.errors import NotFoundError
from winkube.base.types import JsonObject
from winkube.client.resource import PODS
from winkube.client.rest import ApiClient
from winkube.kubelet.pod import identity


async def is_there(client: ApiClient, pod: JsonObject) -> bool:
    """What a server refuses may mean that another pod has the name by now, or something else."""
    try:
        found = await client.get(PODS, identity.name_of(pod), namespace=identity.namespace_of(pod))
    except NotFoundError:
        return False
    return identity.uid_of(found) == identity.uid_of(pod)
