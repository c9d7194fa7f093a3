"""Volumes, claims on them, and the classes and drivers they come from."""
