"""What upstream fills in, by kind: one module per family."""
