"""Emulated hosts: namespaces, underlay, Windows personalities, the Wine base."""
