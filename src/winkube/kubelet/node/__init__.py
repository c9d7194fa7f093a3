"""The Node object: registration, status and lease."""
