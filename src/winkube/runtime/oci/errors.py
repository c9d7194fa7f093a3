"""What can be wrong with an image.

ImageError (UNKNOWN)
├── InvalidReferenceError  INVALID_ARGUMENT, the name cannot be an image's
├── ImageNotFoundError     NOT_FOUND, neither here nor in the registry
├── PlatformError          UNKNOWN, no variant of the image runs on this host
├── BuildMismatchError     UNKNOWN, the image is of a Windows this host cannot run
├── ArchiveError           INVALID_ARGUMENT, a file that is not an image archive, or a harmful one
└── RegistryError          UNKNOWN, the registry refused or cannot be reached
"""

from winkube.runtime.errors import ImageError


class InvalidReferenceError(ImageError):
    code = "INVALID_ARGUMENT"

    def __init__(self, text: str) -> None:
        super().__init__(f"failed to parse image reference {text!r}: invalid reference format")


class ImageNotFoundError(ImageError):
    code = "NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(f'failed to resolve reference "{name}": {name}: not found')
        self.name = name


class PlatformError(ImageError):
    def __init__(self, windows_build: str, found: str = "") -> None:
        super().__init__(
            f"no matching manifest for windows/amd64 {windows_build} in the manifest list entries"
            + (f" (the image is for {found})" if found else "")
        )


class BuildMismatchError(ImageError):
    """The words and number of the Host Compute Service."""

    hresult = 0xC0370101

    def __init__(self, image_build: int, host_build: int) -> None:
        super().__init__(
            "The container operating system does not match the host operating system. "
            f"(0x{self.hresult:x}): the image is of Windows build 10.0.{image_build}, "
            f"the host is 10.0.{host_build}"
        )
        self.image_build, self.host_build = image_build, host_build


class ArchiveError(ImageError):
    code = "INVALID_ARGUMENT"


class RegistryError(ImageError):
    def __init__(self, url: str, words: str) -> None:
        super().__init__(f"{url}: {words}")
        self.url = url
