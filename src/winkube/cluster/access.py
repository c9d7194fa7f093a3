"""How the cluster's API server is reached: by its components, and by commands on the host."""

from typing import Final

from winkube.client.config import ClientConfig
from winkube.cluster import pki
from winkube.cluster.state import ClusterState

API_PORT: Final = 6443


def client_config(state: ClusterState, identity: str) -> ClientConfig:
    """How a component inside the cluster reaches the API server."""
    pair = pki.pair(state, identity)
    return ClientConfig(
        server=f"https://{state.control_plane_ip}:{API_PORT}",
        ca_file=pki.ca_file(state),
        cert_file=pair.cert,
        key_file=pair.key,
        user_agent=f"winkube/{identity}",
    )


def admin_client_config(state: ClusterState) -> ClientConfig:
    """How a command on the host reaches it."""
    pair = pki.pair(state, "admin")
    return ClientConfig(
        server=f"https://127.0.0.1:{state.api_port}",
        ca_file=pki.ca_file(state),
        cert_file=pair.cert,
        key_file=pair.key,
        user_agent="winkube",
    )
