"""StatefulSets: pods with names, places in an order, and claims of their own."""
