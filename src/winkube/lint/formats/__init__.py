"""One module per way to write findings down."""
