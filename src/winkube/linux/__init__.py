"""Thin effects on the kernel: namespaces, links, routes, packet rules, mounts, cgroups."""
