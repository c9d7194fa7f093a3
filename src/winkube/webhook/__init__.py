"""The Windows rules as an admission webhook of any cluster: a server, and its manifests."""
