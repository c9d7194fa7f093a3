"""How every component reaches the cluster: API client, list-watch caches, events, leases."""
