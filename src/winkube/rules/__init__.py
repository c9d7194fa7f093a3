"""The knowledge base: what Windows can and cannot do, as data, and the engine that applies it."""
