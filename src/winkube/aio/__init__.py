"""Task supervision, back-off, keyed work queue, bounded broadcast hub, child processes."""
