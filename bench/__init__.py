"""Benchmarks: each module prints one table; none asserts on time."""
