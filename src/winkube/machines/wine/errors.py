"""What can go wrong while the Wine base is built.

WineError
├── BaseBuildError     a step of the build failed
├── BaseMissingError   the base was asked for before it was built
├── ModuleError        a program file of Wine's has not what is to be changed
└── RegistryTextError  a registry file is not in Wine's format
"""

from pathlib import Path

from winkube.base.errors import WinkubeError


class WineError(WinkubeError):
    """The Windows base cannot be built or used."""


class BaseBuildError(WineError):
    def __init__(self, step: str, detail: str, hint: str = "") -> None:
        super().__init__(
            f"building the Windows base failed while {step}: {detail}"
            + (f"; {hint}" if hint else "")
        )
        self.step, self.detail = step, detail


class BaseMissingError(WineError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"the Windows base is not built yet ({path} does not exist)")
        self.path = path


class RegistryTextError(WineError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is not a Wine registry file")
        self.path = path


class ModuleError(WineError):
    """A program file is not what it should be."""
