"""C sources of the small Windows programs every container has, compiled once into the cache."""
