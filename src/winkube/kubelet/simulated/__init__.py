"""Nodes without machines: many kubelets in one process that only say what real ones would."""
