"""Nodes: pod networks, health, taints and what happens to pods of lost nodes."""
