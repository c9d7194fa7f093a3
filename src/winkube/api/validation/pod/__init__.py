"""Pods: their containers, volumes and resources, where they may run, and how they may change."""
