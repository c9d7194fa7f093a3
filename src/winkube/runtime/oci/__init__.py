"""OCI images: names, archives, registries, the content store and the built-in Windows images."""
