"""The cluster DNS server."""
