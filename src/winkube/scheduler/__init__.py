"""Pod placement: queue, cycle, plugins in one ordered list."""
