"""What a metrics server is told."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class MetricsConfig:
    """Times in seconds.

    Requests come from the API server, which shows a front proxy's certificate; kubelets are asked
    with a certificate of our own.
    """

    listen: tuple[str, int]
    cert_file: Path
    key_file: Path
    requestheader_ca: Path
    kubelet_ca: Path
    client_cert: Path
    client_key: Path
    allowed_names: tuple[str, ...] = ("front-proxy-client",)
    # How often kubelets are asked while somebody reads the figures, and while nobody does.
    interval: float = 5.0
    # What was seen once is soon looked at again: only two looks make a rate.
    first_interval: float = 2.0
    idle_interval: float = 15.0
    idle_after: float = 60.0
    timeout: float = 4.0
