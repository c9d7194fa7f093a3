"""Check manifests against the knowledge base: read, locate, suppress, repair, report."""
