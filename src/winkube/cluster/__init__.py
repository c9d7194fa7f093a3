"""Assembly: configuration to components to processes."""
