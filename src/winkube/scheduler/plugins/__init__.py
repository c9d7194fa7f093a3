"""One module per scheduling rule; their order is in ``order``."""
