"""Services and routes programmed on a node."""
