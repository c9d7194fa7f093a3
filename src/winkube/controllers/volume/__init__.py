"""Persistent volumes: binding to claims, protection while in use, folders of nodes as volumes."""
