"""How each kind prints as a table row: one module per API group."""
