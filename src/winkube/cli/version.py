"""``winkube version``."""

import platform

import winkube


def version() -> None:
    """Say which winkube this is, and the Kubernetes it serves."""
    from winkube.cluster.spec import ClusterSpec

    print(f"winkube {winkube.__version__}")
    print(f"kubernetes v{ClusterSpec().kubernetes_version}")
    print(f"python {platform.python_version()}")
