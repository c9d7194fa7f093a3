"""Level-based controllers, one module each."""
