"""Kubernetes objects: kinds, schema, defaults, validation, patches, selectors, tables, errors."""
