"""Errors of the kubelet; each carries the reason word users see in a status or an event.

KubeletError
├── KubeletConfigError      the kubelet itself is told something impossible
├── AdmissionError          this node refuses the pod: it fails with this reason
├── VolumeError             event FailedMount; tried again
├── SandboxError            event FailedCreatePodSandBox; tried again
├── StartError              a container stays waiting with this reason; tried again
└── HookError               a lifecycle hook failed
"""

from winkube.base.errors import WinkubeError


class KubeletError(WinkubeError):
    pass


class KubeletConfigError(KubeletError):
    pass


class AdmissionError(KubeletError):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class VolumeError(KubeletError):
    def __init__(self, volume: str, problem: str) -> None:
        super().__init__(f'MountVolume.SetUp failed for volume "{volume}" : {problem}')
        self.volume, self.problem = volume, problem


class SandboxError(KubeletError):
    pass


class StartError(KubeletError):
    """``reason`` is the waiting reason of the container, e.g. ErrImagePull."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class HookError(KubeletError):
    pass
