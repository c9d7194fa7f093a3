"""Images on nodes: what is there, and how an archive gets there."""

from dataclasses import dataclass
from pathlib import Path

from winkube.cluster.errors import ClusterError
from winkube.cluster.state import ClusterState
from winkube.wire import cri
from winkube.wire.cri_client import CriClient

_MAX_JSON = 4 << 20


class ArchiveError(ClusterError):
    def __init__(self, archive: Path, problem: str) -> None:
        super().__init__(f"{archive}: {problem}")


@dataclass(frozen=True, slots=True)
class ImageRow:
    node: str
    image: str
    size: int


async def list_images(state: ClusterState) -> list[ImageRow]:
    rows = []
    for node in state.spec.nodes:
        client = CriClient(state.paths.node(node.name).cri_socket)
        try:
            answer = await client.call("ListImages", cri.ListImagesRequest(), timeout=10.0)
        finally:
            await client.close()
        for image in answer.images:
            name = next(iter(image.repo_tags), image.id)
            rows.append(ImageRow(node.name, name, image.size))
    return sorted(rows, key=lambda row: (row.node, row.image))
