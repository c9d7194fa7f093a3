"""What chooses objects: selectors of labels, fields and nodes, and how to find those that match."""
