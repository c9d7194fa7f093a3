"""Objects in YAML, read and written as upstream does."""
