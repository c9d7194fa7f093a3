"""The verbs over any kind: one module per verb, kinds differ by data and small hooks."""
