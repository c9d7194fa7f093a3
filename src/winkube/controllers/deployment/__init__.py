"""Deployments: revisions, rollouts, scaling, progress."""
