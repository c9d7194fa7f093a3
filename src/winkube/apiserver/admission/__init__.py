"""What may enter the store and how it is completed: one module per step, order in one list."""
