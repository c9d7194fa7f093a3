"""What the runtime refuses, with the gRPC code and the words a CRI client sees.

RuntimeServiceError (UNKNOWN)
├── NotFoundError          NOT_FOUND
├── InvalidArgumentError   INVALID_ARGUMENT
├── FailedPreconditionError FAILED_PRECONDITION
├── UnsupportedError       UNIMPLEMENTED
├── DeadlineError          DEADLINE_EXCEEDED
├── StartError             UNKNOWN, the program could not be started
└── ImageError             UNKNOWN, see runtime/oci/errors.py
"""

from winkube.base.errors import WinkubeError


class RuntimeServiceError(WinkubeError):
    """``code`` is the name of a gRPC status; the edge turns it into one."""

    code = "UNKNOWN"


class NotFoundError(RuntimeServiceError):
    code = "NOT_FOUND"

    def __init__(self, kind: str, name: str) -> None:
        # The words containerd uses; clients look for "not found".
        super().__init__(f'an error occurred when try to find {kind} "{name}": not found')
        self.kind, self.name = kind, name


class InvalidArgumentError(RuntimeServiceError):
    code = "INVALID_ARGUMENT"


class FailedPreconditionError(RuntimeServiceError):
    code = "FAILED_PRECONDITION"


class UnsupportedError(RuntimeServiceError):
    code = "UNIMPLEMENTED"


class DeadlineError(RuntimeServiceError):
    code = "DEADLINE_EXCEEDED"


class StartError(RuntimeServiceError):
    """The program does not start; worded as containerd and hcsshim word it."""

    def __init__(self, container_id: str, words: str, *, exec_id: str = "") -> None:
        where = f"hcs::System::CreateProcess {container_id}: {words}: unknown"
        super().__init__(
            f'failed to exec in container: failed to start exec "{exec_id}": {where}'
            if exec_id
            else f'failed to start containerd task "{container_id}": {where}'
        )
        self.words = words


class SandboxStartError(RuntimeServiceError):
    def __init__(self, sandbox_id: str, words: str) -> None:
        super().__init__(
            f'failed to start sandbox container task "{sandbox_id}": '
            f"hcs::System::CreateProcess {sandbox_id}: {words}: unknown"
        )


class ImageError(RuntimeServiceError):
    """Anything about images; the tree continues in ``runtime/oci/errors.py``."""
