"""Images on nodes."""
