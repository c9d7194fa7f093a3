"""Liveness, readiness and startup probes."""
