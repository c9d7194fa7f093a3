"""Garbage collection: objects go when their owners are gone."""
