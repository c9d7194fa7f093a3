"""The Wine base: the files every emulated Windows container starts from, built once per machine."""
