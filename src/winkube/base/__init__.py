"""Errors, clock, ids, paths and logging: standard library only, no asyncio, no Kubernetes."""
