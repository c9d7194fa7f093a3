"""Pod volumes as folders on the node, and the mounts containers get of them."""
