"""Which Windows an emulated host says it is; what such a Windows can do is in winkube.facts."""

from dataclasses import dataclass
from functools import cache

from winkube.base.errors import WinkubeError
from winkube.facts.windows import runs_image, windows_versions


class UnknownPersonalityError(WinkubeError):
    def __init__(self, key: str) -> None:
        super().__init__(
            f"unknown Windows version {key!r}: choose one of {', '.join(sorted(personalities()))}"
        )


@dataclass(frozen=True, slots=True)
class Personality:
    key: str  # the tag Microsoft's images carry
    product_name: str
    build: int
    revision: int
    hns_version: tuple[int, int]
    release_id: str

    @property
    def windows_build(self) -> str:
        """The value of node.kubernetes.io/windows-build."""
        return f"10.0.{self.build}"

    @property
    def kernel_version(self) -> str:
        return f"10.0.{self.build}.{self.revision}"

    def runs_image_build(self, image_build: int) -> bool:
        """Whether process isolation starts an image of this build on this host."""
        return runs_image(self.build, image_build)


@cache
def personalities() -> dict[str, Personality]:
    """By key, the versions that a machine can be: those whose HNS and words are known."""
    return {
        version.emulated.key: Personality(
            key=version.emulated.key,
            product_name=version.emulated.product,
            build=version.build,
            revision=version.emulated.revision,
            hns_version=version.hns,
            release_id=version.emulated.release,
        )
        for version in windows_versions()
        if version.emulated is not None and version.hns is not None
    }


def find_personality(key: str) -> Personality:
    try:
        return personalities()[key]
    except KeyError:
        raise UnknownPersonalityError(key) from None
