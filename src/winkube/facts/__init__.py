"""Version tables: which Windows, HNS and Kubernetes know what; data, and typed questions to it.

Everything that depends on a version asks here, from the emulated machine up to the linter, so that
a fact is written once. A table is read when it is first asked for, never on import.
"""
