"""Admission webhooks: programs of users that complete and judge objects."""
