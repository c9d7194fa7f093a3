"""Errors of the API client that are not the server's own answer.

ClientError
├── TransportError     the request or stream broke: the outcome of a write is unknown
├── KubeconfigError    the file, context or credential named cannot be used
└── LeadershipLostError
"""

from pathlib import Path

from winkube.base.errors import WinkubeError


class ClientError(WinkubeError):
    pass


class TransportError(ClientError):
    def __init__(self, server: str, cause: BaseException | str) -> None:
        text = cause if isinstance(cause, str) else (str(cause) or type(cause).__name__)
        super().__init__(f"cannot talk to {server}: {text}")
        self.server = server


class KubeconfigError(ClientError):
    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"kubeconfig {path}: {problem}")
        self.path = path


class LeadershipLostError(ClientError):
    def __init__(self, lease: str) -> None:
        super().__init__(f"lost the leader lease {lease}")
        self.lease = lease
