"""The forms an object has: by version, by the kind a path asks for, and those no longer to use."""
