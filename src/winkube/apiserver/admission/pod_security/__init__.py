"""Pod Security Standards: what a pod may do, by the labels of its namespace."""
