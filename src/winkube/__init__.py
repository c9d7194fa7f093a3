"""Windows Server nodes for Kubernetes, on any Linux machine."""

__version__ = "0.1.0"
